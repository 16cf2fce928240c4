"""The benchmark of peak memory as its command runs it, small; and what must be there at once, counted by hand."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.memory import least_bytes
from bench.resident import growth
from bench.trees import Tree
from bench.workloads import WORKLOADS, make_case

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 2**20


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "bench.memory", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_the_command(tmp_path):
    path = tmp_path / "memory.json"
    peers = "cortex,numpy,tests.bench.planted.wrong"
    done = command("--quick", "--workloads", "mv_rnn", "--peers", peers, "--batch", 4, "--json", path)
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text(encoding="utf-8"))
    assert [(row["workload"], row["hidden"], row["batch"]) for row in result["rows"]] == [
        ("mv_rnn", 16, 4),
    ]
    for row in result["rows"]:
        assert set(row["peers"]) == {"cortex", "numpy"} and row["least"] > 0
        assert all(grown >= 0 for grown in row["peers"].values())
        assert row["workload"] in done.stdout
    assert "its answers are off by" in done.stdout
    assert {"threads", "trees", "seed", "repeats"} == set(result["settings"])


def test_what_is_not_known():
    done = command("--workloads", "novels")
    assert done.returncode == 2 and "no workload is called 'novels': tree_fc, " in done.stderr


def case(name, hidden):
    return make_case(WORKLOADS[name], hidden, [Tree([leaf(), leaf()])] * 4, [1], rounds=1, threads=1)


def leaf():
    return Tree((), 1)


@pytest.mark.parametrize(
    ("make", "rows"),
    [
        (lambda: [leaf()], 1),
        (lambda: [Tree([leaf(), leaf()])], 3),
        (lambda: [leaf(), Tree([leaf(), leaf()])], 4),  # a root stays to the end
        (lambda: [Tree([Tree([leaf(), leaf()]), leaf()])], 4),  # the last leaf waits for the second level
        (lambda: [Tree([Tree([Tree([leaf(), leaf()]), Tree([leaf(), leaf()])]), leaf()])], 7),
    ],
)
def test_what_must_be_there_at_once(make, rows):
    assert least_bytes(case("tree_fc", 8), make()) == rows * 8 * 4
    assert least_bytes(case("mv_rnn", 8), make()) == rows * (8 + 64) * 4


def test_a_child_of_two_parents_waits_for_the_later():
    shared = leaf()
    early = Tree([shared, leaf()])
    late = Tree([Tree([early, leaf()]), shared])
    # While the first inner node is computed: itself and the three leaves. While the second is: itself, the first, a
    # leaf and the shared one.
    assert least_bytes(case("tree_fc", 8), [late]) == 4 * 8 * 4


def test_growth_is_that_of_the_peak():
    def call():
        np.ones(64 * MEGABYTE, np.uint8).sum()

    assert 60 * MEGABYTE < growth(call, 2) < 100 * MEGABYTE
    assert growth(lambda: None, 3) < 8 * MEGABYTE
