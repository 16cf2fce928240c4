"""The benchmark of ragged operators as its command runs it, small: answers compared, the wrong refused."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.operators.problems import ON_MATRICES, Operator, Sizes, sizes_of
from bench.peers.ragged import OWN, RAGGED_PEERS

ROOT = Path(__file__).resolve().parents[2]
OTHERS = [name for name in RAGGED_PEERS if name != OWN]
LAYER = ["torch-padded", "torch-nested", "torch-jagged", "onednn-packed", "onnxruntime"]
PEERS = {
    Operator.ENCODER_LAYER: [*LAYER, "torch-micro"],
    Operator.ATTENTION: [*LAYER, "torch-micro"],
    Operator.DECODER_LAYER: ["torch-padded"],
    Operator.LINEAR: LAYER,
    Operator.LAYER_NORM: LAYER,
    Operator.SOFTMAX: ["torch-padded", "onednn-packed", "onnxruntime"],
    Operator.VGEMM: ["openblas", "torch-mm", "torch-bmm", "mkl"],
    Operator.MASKED_ATTENTION: ["torch-padded", "torch-micro", "onednn-packed", "onnxruntime"],
    Operator.TRMM: ["openblas", "openblas-dense", "scipy-csr", "mkl"],
    Operator.TRADD: ["openblas-dense", "scipy-csr"],
    Operator.TRMUL: ["openblas-dense", "scipy-csr"],
}


def command(module, *arguments):
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def measured(folder, *arguments):
    """Run the benchmark, and return its exit code, what it printed and its JSON."""
    path = folder / "result.json"
    done = command("bench.ragged", "--quick", "--threads", 1, "--json", path, *arguments)
    assert path.exists(), done.stderr
    return done, json.loads(path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Run:
    """What one run of the benchmark was asked for, and what came of it."""

    operators: Sequence[Operator]
    peers: Sequence[str]
    done: subprocess.CompletedProcess[str]
    result: dict[str, Any]
    plot: Path


FEW = ([Operator.LAYER_NORM, Operator.TRMM, Operator.TRADD], ["torch-padded", "openblas", "openblas-dense"])
COLA = "cola, 4, 32"
ON_ROWS = ([operator for operator in Operator if operator not in ON_MATRICES], [*LAYER, "torch-micro"])
REST = (list(ON_MATRICES), [name for name in OTHERS if name not in ON_ROWS[1]])


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(FEW, id="few"),
        pytest.param(ON_ROWS, id="rows", marks=pytest.mark.thorough),
        pytest.param(REST, id="matrices", marks=pytest.mark.thorough),
    ],
)
def run(request, tmp_path_factory):
    """One run of peers on operators; ours, which takes seconds to compile, is measured on few below."""
    operators, peers = request.param
    folder = tmp_path_factory.mktemp("ragged")
    arguments = ("--peers", ",".join(peers), "--operators", ",".join(each.value for each in operators))
    done, result = measured(folder, "--sets", "cola", *arguments, "--plot", folder / "plot.png")
    return Run(operators, peers, done, result, folder / "plot.png")


def test_every_peer_is_right_on_every_operator(run):
    assert run.done.returncode == 0, run.done.stdout + run.done.stderr
    assert run.result["refused"] == []
    shapes = dict.fromkeys(ON_MATRICES, "48") | {Operator.VGEMM: "3"}
    rows = {(row["operator"], row["shape"]): row for row in run.result["rows"]}
    more = {(Operator.VGEMM, "1"), (Operator.TRMM, "48, 8 columns")}
    wanted = {(operator, shapes.get(operator, COLA)) for operator in run.operators}
    wanted |= {(operator, shape) for operator, shape in more if operator in run.operators}
    assert set(rows) == {(operator.value, shape) for operator, shape in wanted}
    for operator, shape in wanted:
        row = rows[operator.value, shape]
        names = [name for name in PEERS[operator] if name in run.peers]
        assert names and sorted(times["peer"] for times in row["peers"]) == sorted(names)
        assert all(times["error"] <= 1e-5 for times in row["peers"])


def test_the_json_has_what_the_documents_say(run):
    result = run.result
    assert result["schema"] == 2
    layers = [{"hidden": 32, "heads": 4, "ff": 48}]
    settings = {"threads": 1, "batches": [4], "layers": layers, "rounds": 2, "pause": 0.01, "seed": 0}
    assert result["settings"] == settings
    assert {"processor", "system", "cores", "load"} == set(result["machine"])
    packages = {package for name in run.peers for package in RAGGED_PEERS[name].packages}
    assert {"python", "numpy", *packages} <= set(result["versions"])
    assert result["ceilings"]["workers"] == 1
    for row in result["rows"]:
        sequences = Operator(row["operator"]) not in ON_MATRICES
        assert (row["batches"], row["elements"]) == (
            (2, 4) if sequences else (1, 3 if row["shape"] == "3" else 1)
        )
        assert (row["rows"] > 0) == sequences
        for times in row["peers"]:
            assert times["took"]["low"] <= times["took"]["median"] <= times["took"]["high"]
            assert len(times["of_batches"]) == row["batches"]
            assert (times["gflops"] is None) == (row["flops"] == 0.0)


def test_the_plot_is_a_png(run):
    assert run.plot.read_bytes().startswith(b"\x89PNG")


def test_the_table_names_every_peer(run):
    for name in run.peers:
        assert RAGGED_PEERS[name].label in run.done.stdout


def test_ours_is_measured_by_the_same_rules(tmp_path):
    operators = ["linear", "vgemm", "trmm", "decoder_layer"]
    arguments = (
        "--peers",
        f"{OWN},openblas,torch-padded",
        "--sets",
        "mnli",
        "--operators",
        ",".join(operators),
    )
    done, result = measured(tmp_path, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    peers = {row["operator"]: [times["peer"] for times in row["peers"]] for row in result["rows"]}
    assert peers == {
        "linear": [OWN, "torch-padded"],
        "decoder_layer": [OWN, "torch-padded"],
        "vgemm": [OWN, "openblas"],
        "trmm": [OWN, "openblas"],
    }
    assert [row["shape"] for row in result["rows"] if row["operator"] == "trmm"] == ["48", "48, 8 columns"]
    assert all(times["error"] <= 1e-5 for row in result["rows"] for times in row["peers"])
    assert " x " in done.stdout


def test_batches_and_widths(tmp_path):
    done, result = measured(
        tmp_path,
        *("--peers", "torch-padded", "--sets", "cola", "--operators", "linear,masked_attention"),
        *("--batches", "2,3", "--widths", "30,48"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shapes = [f"cola, {batch}, {width}" for width in (30, 48) for batch in (2, 3)]
    assert [row["shape"] for row in result["rows"]] == 2 * shapes
    assert [row["elements"] for row in result["rows"]] == 4 * [2, 3]


def test_heads_are_as_wide_as_divides_a_width():
    assert (sizes_of(512), sizes_of(300)) == (Sizes(512, 8, 2048), Sizes(300, 5, 1200))
    assert (sizes_of(257).heads, sizes_of(150).heads) == (1, 2)


def test_planted_peers_are_refused_and_not_timed(tmp_path):
    wrong, broken = (f"tests.bench.planted.ragged_{name}" for name in ("wrong", "broken"))
    missing = "tests.bench.planted.missing"
    peers = ",".join([wrong, missing, broken, "openblas-dense"])
    arguments = ("--operators", "trmm,layer_norm", "--triangles", "32,48", "--sets", "cola")
    done, result = measured(tmp_path, "--peers", peers, *arguments)
    assert done.returncode == 1
    refused = [(each["peer"], each["operator"], each["shape"]) for each in result["refused"]]
    assert refused == [
        (missing, "everything", None),
        (wrong, "trmm", "32"),
        (wrong, "trmm", "48"),
        (broken, "trmm", "48"),
        (wrong, "layer_norm", COLA),
    ]
    messages = ["ModuleNotFoundError", "off by", "off by", "at most 40", "off by inf"]
    for each, message in zip(result["refused"], messages, strict=True):
        assert message in each["why"]
        assert message in done.stdout
    timed = {row["shape"]: [times["peer"] for times in row["peers"]] for row in result["rows"]}
    assert timed == {"32": [broken, "openblas-dense"], "48": ["openblas-dense"], COLA: []}


def test_a_peer_whose_process_ends_is_refused_from_there_on(tmp_path):
    tired = "tests.bench.planted.ragged_tired"
    arguments = ("--operators", "trmm", "--triangles", "32,48", "--peers", f"{tired},openblas-dense")
    done, result = measured(tmp_path, *arguments)
    assert done.returncode == 1
    assert [(each["peer"], each["shape"]) for each in result["refused"]] == [(tired, "32"), (tired, "48")]
    assert all("its process ended: 9" in each["why"] for each in result["refused"])
    timed = {row["shape"]: [times["peer"] for times in row["peers"]] for row in result["rows"]}
    assert timed == {"32": ["openblas-dense"], "48": ["openblas-dense"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--peers", "absent"), "no peer is called 'absent': "),
        (("--operators", "nothing"), "no operator is called 'nothing': encoder_layer, "),
        (("--sets", "novels"), "no length set is called 'novels': cola, mnli, "),
    ],
)
def test_what_cannot_be_done_is_said(arguments, message):
    done = command("bench.ragged", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_padding(tmp_path):
    path, plot = tmp_path / "padding.json", tmp_path / "padding.png"
    done = command("bench.padding", "--sets", "cola,race", "--batches", "2,8", "--json", path, "--plot", plot)
    assert done.returncode == 0, done.stderr
    assert plot.read_bytes().startswith(b"\x89PNG")
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert [(row["shape"], row["batch"]) for row in rows] == [
        ("cola", 2),
        ("cola", 8),
        ("race", 2),
        ("race", 8),
    ]
    for row in rows:
        assert row["partly"] > 1 and row["padded"] > 1
        assert row["fused_bytes"] < row["ragged_bytes"] < row["padded_bytes"]


def test_prelude(tmp_path):
    path = tmp_path / "prelude.json"
    arguments = ("--quick", "--threads", 1, "--sets", "mnli", "--batches", "4,8")
    done = command("bench.prelude", *arguments, "--json", path)
    assert done.returncode == 0, done.stderr
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert [(row["shape"], row["shared"]) for row in rows] == [
        (f"mnli, {batch}", shared) for batch in (4, 8) for shared in (False, True)
    ]
    for row in rows:
        assert row["graph_bytes"] < row["sparse_bytes"]
        assert row["sparse"]["median"] > 0 and row["compiled"]["median"] > 0
    for apart, together in zip(rows[::2], rows[1::2], strict=True):
        assert together["compiled_bytes"] < apart["compiled_bytes"]


@pytest.mark.parametrize("module", ["bench.padding", "bench.prelude"])
def test_sets_that_are_not_known(module):
    done = command(module, "--sets", "novels")
    assert done.returncode == 2
    assert "no length set is called 'novels'" in done.stderr
