"""The benchmark as its command runs it, small: answers are compared, the wrong refused, and results written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.peers import BY_HAND_ROUNDED, OWN, PEERS, ROUNDED
from bench.workloads import RECURSIVE, WORKLOADS

ROOT = Path(__file__).resolve().parents[2]
SPREAD = {"median": float, "low": float, "high": float}
COMPILED = ["torch-compiled", "jax"]
OTHERS = [name for name in PEERS if name not in (OWN, ROUNDED, BY_HAND_ROUNDED, *COMPILED)]
LACKING = dict.fromkeys(RECURSIVE, ("torch-rnn",)) | {
    "lstm": ("torch-nodes", "jax"),
    "gru": ("torch-nodes", "jax", "torch-rnn"),
    "gru_reset_after": ("torch-nodes", "jax"),
}
"""The peers that a workload is not written for."""


def bench(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "bench.recursive", "--quick", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def measured(folder, *arguments):
    """Run the benchmark, and return its exit code, what it printed and its JSON."""
    path = folder / "result.json"
    done = bench("--json", path, *arguments)
    assert path.exists(), done.stderr
    return done, json.loads(path.read_text(encoding="utf-8"))


def absent(result):
    return [(each["workload"], each["peer"]) for each in result["absent"]]


def lacking(workloads, peers):
    return [(name, peer) for name in workloads for peer in LACKING[name] if peer in peers]


FEW = ("tree_fc", "ternary_lstm", "dag_rnn", "lstm")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(FEW, id="few"),
        pytest.param(tuple(WORKLOADS), id="all", marks=pytest.mark.thorough),
    ],
)
def run(request, tmp_path_factory):
    """One run of every peer on some workloads, or all; those that compile for seconds are run on few, below."""
    folder = tmp_path_factory.mktemp("bench")
    plot = folder / "plot.png"
    # One thread each: pools of several peers that stay awake on few cores would take a minute for this.
    arguments = ("--threads", 1, "--rounds", 1, "--peers", ",".join(OTHERS), "--plot", plot)
    done, result = measured(folder, *arguments, "--workloads", ",".join(request.param))
    return done, result, plot, request.param


def test_every_peer_is_right_on_every_workload(run):
    done, result, _, workloads = run
    assert done.returncode == 0, done.stdout + done.stderr
    assert result["refused"] == []
    assert absent(result) == lacking(workloads, OTHERS)
    rows = {(row["workload"], row["batch"]): row for row in result["rows"]}
    assert set(rows) == {(name, batch) for name in workloads for batch in (1, 3)}
    for row in rows.values():
        timed = [name for name in OTHERS if name not in LACKING[row["workload"]]]
        assert [times["peer"] for times in row["peers"]] == timed
        assert all(times["error"] <= 1e-5 for times in row["peers"])


def test_the_json_has_what_the_documents_say(run):
    _, result, _, _ = run
    assert (result["schema"], result["settings"]["threads"], result["settings"]["warm_up"]) == (2, 1, 3)
    assert {"processor", "system", "cores", "load"} == set(result["machine"])
    assert {"python", "numpy", "torch", "dyNET38"} <= set(result["versions"])
    assert [each["workers"] for each in result["ceilings"]] == [1]
    for row in result["rows"]:
        assert row["batches"] == 1 == len(row["roofline_of_batches"])
        for times in row["peers"]:
            assert {key: type(times["end_to_end"][key]) for key in SPREAD} == SPREAD
            assert times["end_to_end"]["low"] <= times["end_to_end"]["median"] <= times["end_to_end"]["high"]
            assert len(times["end_to_end_of_batches"]) == 1
            if times["peer"] == "torch-nodes":
                assert times["kernel"] is None is times["share"]
            else:
                assert 0 < times["share"] < 10


def test_the_plot_is_a_png(run):
    _, _, plot, _ = run
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_the_table_names_every_peer(run):
    done, _, _, _ = run
    for name in OTHERS:
        assert PEERS[name].label in done.stdout


@pytest.mark.thorough
def test_ours_is_measured_by_the_same_rules(tmp_path):
    done, result = measured(
        tmp_path, "--threads", 2, "--peers", "cortex,cortex-bf16,numpy", "--workloads", "another_cell"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for row in result["rows"]:
        assert row["batches"] == 2 == len(row["roofline_of_batches"])
        ours, rounded, other = row["peers"]
        assert (ours["peer"], rounded["peer"], other["peer"]) == (OWN, ROUNDED, "numpy")
        assert ours["error"] <= 1e-5 < rounded["error"] <= PEERS[ROUNDED].largest_error
        assert ours["kernel"]["median"] < ours["end_to_end"]["median"]
    assert [each["workers"] for each in result["ceilings"]] == [1, 2]
    assert " x " in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("peer", "workloads"),
    [
        # Its leaves are computed as well.
        ("torch-compiled", ["tree_lstm"]),
        # In the second nodes carry vectors; the third it has not.
        ("jax", ["tree_lstm", "gated_dag", "lstm"]),
    ],
)
def test_compiled_peers_are_right(tmp_path, monkeypatch, peer, workloads):
    # What earlier runs compiled is not found.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    arguments = ("--threads", 1, "--rounds", 1, "--peers", peer)
    done, result = measured(tmp_path, *arguments, "--workloads", ",".join(workloads))
    assert done.returncode == 0, done.stdout + done.stderr
    assert absent(result) == lacking(workloads, [peer])
    timed = [
        (row["workload"], row["batch"], [times["peer"] for times in row["peers"]]) for row in result["rows"]
    ]
    assert timed == [
        (name, batch, [] if peer in LACKING[name] else [peer]) for name in workloads for batch in (1, 3)
    ]
    assert all(times["error"] <= 1e-5 for row in result["rows"] for times in row["peers"])


def test_planted_peers_are_refused_and_not_timed(tmp_path):
    planted = {
        "wrong": "its answers are off by ",
        "broken": "one tree at a time",
        "silent": "its process ended: 3",
        "tired": "too tired",
    }
    names = [f"tests.bench.planted.{name}" for name in planted]
    missing = "tests.bench.planted.missing"
    workloads = ["tree_lstm_recursive", "mv_rnn"]
    choosy = "tests.bench.planted.choosy"
    peers = [*names, missing, choosy, "numpy"]
    done, result = measured(tmp_path, "--peers", ",".join(peers), "--workloads", ",".join(workloads))
    assert done.returncode == 1
    first, *others = result["refused"]
    assert (first["peer"], first["workload"], first["hidden"]) == (missing, "everything", None)
    assert "ModuleNotFoundError" in first["why"]
    refused = [(each["workload"], each["peer"]) for each in others]
    assert refused == [(workload, name) for workload in workloads for name in names]
    for each, why in zip(others, list(planted.values()) * 2, strict=True):
        assert why in each["why"]
        assert why in done.stdout
    timed = {row["workload"]: [times["peer"] for times in row["peers"]] for row in result["rows"]}
    assert timed == {"tree_lstm_recursive": [choosy, "numpy"], "mv_rnn": ["numpy"]}
    missing_in = [(each["peer"], each["workload"], each["why"]) for each in result["absent"]]
    assert missing_in == [(choosy, "mv_rnn", "no matrices")]
    assert f"not there: {choosy} on mv_rnn: no matrices" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--peers", "absent"), f"no peer is called 'absent': {', '.join(PEERS)}, or "),
        (("--workloads", "nothing"), "no workload is called 'nothing': tree_fc, "),
        (("--batches", "1,0"), "a batch has one tree or more"),
    ],
)
def test_what_cannot_be_done_is_said(arguments, message):
    done = bench(*arguments)
    assert done.returncode == 2
    assert message in done.stdout + done.stderr
