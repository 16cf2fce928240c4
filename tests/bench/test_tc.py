"""The benchmark of Tensor Comprehensions, small: wrong peers refused, goals told from what was measured."""

import json

import numpy as np
import pytest
from rich.console import Console

from bench.ceilings import Bandwidth, Ceilings
from bench.peers.tc import EVERY, OPENBLAS, OWN, OWN_FIXED, TORCH, find
from bench.peers.tc.compiled import Fixed, Measured, Tuned
from bench.shapes.results import ShapesRefused
from bench.tc.__main__ import Options, main, parse, run
from bench.tc.goals import goals_of
from bench.tc.measure import Pace, reference
from bench.tc.page import page_of
from bench.tc.report import document, print_report
from bench.tc.results import TcResult, TcRow, TcSettings, TcTimes
from bench.tc.workloads import GRADIENT, RANDOM, gradients, random_products, tiny_workloads, workloads

WRONG = "tests.bench.planted.tc_wrong"
TINY = {row.function: row for row in tiny_workloads()}


@pytest.fixture(scope="module")
def result():
    """Return a run of two peers that are right and one that is not."""
    rows = tuple(TINY[name] for name in ("tmm", "group_convolution", "two_lookups", "mlp3"))
    options = Options(rows, (OPENBLAS, WRONG, TORCH), 1, Pace(4, 0.01, 0.0), True)
    return run(options, Console(quiet=True))


def test_right_peers_are_timed_and_wrong_ones_refused(result):
    timed = {row.function: [each.peer for each in row.peers] for row in result.rows}
    both = [OPENBLAS, TORCH]
    assert timed == {"tmm": both, "group_convolution": [TORCH], "two_lookups": both, "mlp3": both}
    assert {(each.peer, each.workload) for each in result.refused} == {
        (WRONG, TINY[name].label) for name in ("tmm", "two_lookups", "mlp3")
    }
    assert all("its answer is off by" in each.why for each in result.refused)
    for row in result.rows:
        for times in row.peers:
            assert 0 < times.p0 <= times.p50 <= times.p90 and times.error <= 1e-5 and times.calls == 4
            assert times.cached_seconds is None and times.compile_seconds >= 0


def test_the_page_has_all_rows_and_says_who_is_missing(result):
    page = page_of(document(result, [OPENBLAS, TORCH]), result, "p.png")
    for part in ("# Tensor Comprehensions", "| tmm tiny | NumPy (OpenBLAS) |", "## Not timed", "(p.png)"):
        assert part in page
    assert f"- {WRONG} on tmm tiny: its answer is off by" in page
    console = Console(width=200, quiet=False)
    with console.capture() as printed:
        print_report(result, console)
    assert "PyTorch" in printed.get() and "not timed: " in printed.get()


@pytest.mark.parametrize("name", ["halide", "onnxruntime", "jax", "torch-compiled"])
def test_libraries_have_the_same_answers(name):
    options = Options((TINY["tmm"], TINY["softmax"]), (name,), 1, Pace(2, 0.01, 0.0), True)
    found = run(options, Console(quiet=True))
    assert found.refused == [] and [len(row.peers) for row in found.rows] == [1, 1]


def test_gradients_have_the_numbers_of_pytorch():
    """Outputs that a gradient is given are those of its other arguments."""
    rows = [TINY[name] for name in ("mlp3_gradient", "lookup_gradient")]
    found = run(Options(tuple(rows), (OWN, TORCH), 1, Pace(2, 0.01, 0.0), True), Console(quiet=True))
    assert found.refused == [] and [len(row.peers) for row in found.rows] == [2, 2]


def test_what_a_gradient_does_not_read_does_not_count():
    gradient, function = TINY["lookup_gradient"], TINY["lookup"]
    numbers = {"T": 50 * 5, "I": 5 * 5, "d_O": 5 * 5}
    assert {name: each.size for name, each in gradient.operands().items()} == numbers
    assert gradient.bytes == 4 * (
        numbers["I"] + numbers["d_O"] + numbers["T"]
    )  # those of the result, as many as of T
    assert TINY["mlp3_gradient"].flops == 2 * TINY["mlp3"].flops and gradient.flops == function.flops == 0


@pytest.mark.thorough
@pytest.mark.parametrize("name", [OWN, "halide", "onnxruntime", "jax", "torch"])
def test_every_function_of_a_peer_is_right(name):
    found = run(Options(tuple(TINY.values()), (name,), 1, Pace(2, 0.01, 0.0), True), Console(quiet=True))
    assert found.refused == []


@pytest.mark.parametrize("peer", [Measured, Fixed])
def test_ours_are_compiled_from_the_text_and_from_the_cache(peer, monkeypatch):
    monkeypatch.setenv("RAGGED_CACHE_DIR", "")
    monkeypatch.delenv("CORTEX_CACHE_DIR", raising=False)
    own, row = peer(1), TINY["moments"]
    found = own.arrays(own.call(row, row.operands())())
    for each, wanted in zip(found, reference(row), strict=True):
        np.testing.assert_allclose(each, wanted, rtol=1e-4, atol=1e-5)
    assert own.cached_seconds(row) > 0
    assert Tuned.tuning_seconds == 60.0 and find("tc-tuned").module.endswith(":Tuned")


def row(label, own, other, function="tmm", peer=OPENBLAS, floor=1.0, group="", **fields):
    def times(name, us, cached=None):
        return TcTimes(name, us, us, us, 9, 0.0, 0.6, cached)

    return TcRow(
        label,
        function,
        group,
        fields.get("statements", 1),
        10**6,
        10**6,
        floor,
        fields.get("memory_bound", False),
        [times(OWN, own, 0.004), times(peer, other)],
    )


def goals(*rows, refused=()):
    ceilings = Ceilings(2, 100.0, (Bandwidth("memory", 1, None, 10.0),))
    found = goals_of(TcResult(TcSettings(2, 9, 0.1, 0.0, True), ceilings, list(rows), list(refused)))
    return {goal.what: (goal.measured, goal.met) for goal in found}


def test_goals_are_ratios_of_medians():
    found = goals(
        row("tmm 128 x 1024 x 1024", 100, 96),
        row("tmm 128 x 32 x 256", 13, 20),
        row("64 x 64 x 64", 100, 90, peer=OWN_FIXED, group=RANDOM),
        row("tbmm", 100, 240, "tbmm", TORCH),
        row("group_convolution", 10, 18, "group_convolution", TORCH, floor=6.0),
        row("softmax", 100, 95, "softmax", TORCH, floor=80.0, memory_bound=True),
        row("c3 small", 100, 50, "c3", OWN_FIXED),
        row("gradient of softmax", 220, 264, "softmax_gradient", TORCH, group=GRADIENT),
        row("lookup of few", 10, 20, "lookup", TORCH, group=GRADIENT),
        row("gradient of lookup of few", 25, 20, "lookup_gradient", TORCH, group=GRADIENT),
        refused=[ShapesRefused("jax", "everything", "absent")],
    )
    assert found["sizes fixed over ours for all sizes, geometric mean of 1 rows"] == ("0.500", False)
    assert found["tmm 128 x 1024 x 1024: OpenBLAS over ours"] == ("0.960", True)
    assert found["tmm 128 x 32 x 256: microseconds of a call"] == ("13.000", False)
    assert found["products of 1 random sizes, sizes fixed over ours, geometric mean"] == ("0.900", False)
    assert found["tbmm: PyTorch over ours"] == ("2.400", False)
    assert found["group_convolution: ours over the floor"] == ("1.667", True)
    assert found["group_convolution: oneDNN over ours, geometric mean"] == ("1.800", False)
    assert found["softmax: share of the bandwidth of memory"] == ("0.800", False)
    assert found["the best peer over ours, least of 5 rows (0 below)"] == ("0.950", True)
    assert found["gradient of softmax: over the function itself"] == ("2.200", True)
    assert found["gradient of softmax: PyTorch's backward pass over ours"] == ("1.200", False)
    assert found["gradient of lookup of few: over the function itself"] == ("2.500", False)
    assert "lookup of few: over the function itself" not in found
    assert found["seconds from the text to a function of one statement, most"] == ("0.600", False)
    assert found["milliseconds from the text to a function from the cache, most"] == ("4.000", True)


def test_the_rows_are_the_papers():
    labels = [each.label for each in workloads()]
    assert len(labels) == len(set(labels)) >= 24
    assert {each.function for each in [*workloads(), *gradients()]} == set(TINY)
    flops = {each.label: each.flops for each in workloads()}
    assert flops["tmm 128 x 1024 x 1024"] == 2 * 128 * 1024 * 1024
    assert flops["group_convolution 32 of 7"] == 2 * 32 * 32 * 32 * 32 * 25 * 9
    assert flops["softmax 512 x 1000"] == 0
    drawn = random_products(30)
    assert len({each.label for each in drawn}) == 30 and {each.group for each in drawn} == {RANDOM}


def test_of_a_table_only_the_rows_that_are_read_count():
    lookup = TINY["lookup"]
    table, indices = lookup.operands().values()
    read = np.unique(indices)
    assert indices.dtype == np.int32 and np.all(table[read] != 0)
    assert not np.delete(table, read, axis=0).any()
    assert lookup.sizes | {"E": 0} == {"E": 0, "D": 5, "B": 5, "L": 5}
    assert lookup.bytes == 4 * (5 * 5 * (5 + 1) + 5 * 5)


def test_the_command_writes_what_it_finds(tmp_path, capsys):
    paths = {name: tmp_path / f"found.{name}" for name in ("json", "png", "md")}
    arguments = ["--quick", "--functions", "tmm", "--peers", OPENBLAS, "--threads", "1"]
    arguments += ["--json", str(paths["json"]), "--plot", str(paths["png"]), "--page", str(paths["md"])]
    assert main(arguments) == 0
    assert json.loads(paths["json"].read_text())["rows"][0]["function"] == "tmm"
    assert paths["png"].read_bytes().startswith(b"\x89PNG")
    assert "(found.png)" in paths["md"].read_text() and "tmm tiny" in capsys.readouterr().out


def test_the_command_knows_its_names():
    _, options = parse(["--functions", f"tmm,{RANDOM}", "--peers", "jax"])
    assert len(options.workloads) == 33 and set(options.peers) <= set(EVERY)
    for wrong in (["--peers", "nothing"], ["--functions", "nothing"]):
        with pytest.raises(SystemExit):
            parse(wrong)
