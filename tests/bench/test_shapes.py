"""The benchmark of dynamic shapes, small: answers compared, wrong peers refused, goals told from what was measured."""

import numpy as np
import pytest
from rich.console import Console

from bench.ceilings import Ceilings
from bench.peers.shapes import OWN, SHAPES_PEERS, STRONGEST, compiled
from bench.peers.shapes.compiled_tiles import Exact, Padded, full_tiles, tile_of
from bench.results import Spread
from bench.shapes.__main__ import Options, parse, run
from bench.shapes.figures import measure_figures
from bench.shapes.goals import goals_of
from bench.shapes.measure import Pace, _fresh
from bench.shapes.page import page_of, read_searched
from bench.shapes.plots import plot
from bench.shapes.problems import BatchedProduct, Convolution, Dense, ShapesProblem, reference
from bench.shapes.report import document, print_report
from bench.shapes.results import Bits, Served, ShapeRow, ShapesResult, ShapesSettings, ShapeTimes
from bench.shapes.workloads import Extent, stream, tiny_extent, workloads
from ragged.machine import this_machine
from ragged.processors import PROCESSORS

WRONG, BLOCKED = "tests.bench.planted.shapes_wrong", "tests.bench.planted.shapes_blocked"


@pytest.fixture(scope="module")
def result():
    """Return a run of two peers that are right and one that is not."""
    asked = ("dense", "batched mixing", "stream", "bits", "memory")
    peers = ("openblas", BLOCKED, WRONG)
    options = Options(asked, peers, tiny_extent(), 1, Pace(0.001, 2, 2, 0.0), True)
    return run(options, Console(quiet=True))


def test_right_peers_are_timed_and_wrong_ones_refused(result):
    rows = {(row.workload, row.label): [each.peer for each in row.peers] for row in result.rows}
    assert rows["dense", "T=1"] == rows["dense", "T=2"] == ["openblas", BLOCKED]
    assert rows["batched mixing", "T=3"] == ["openblas"]
    assert {each.peer for each in result.refused} == {BLOCKED, WRONG}
    assert any("its answer is off by" in each.why for each in result.refused if each.peer == WRONG)
    assert all(each.took.median > 0 and each.error <= 1e-5 for row in result.rows for each in row.peers)


def test_first_calls_are_those_of_shapes_never_seen(result):
    fresh = {each.peer: each for each in result.fresh}
    assert fresh["openblas"].shapes == tiny_extent().fresh - 1
    assert {each.peer: each.shapes for each in result.grown}["openblas"] == tiny_extent().served


def test_rows_with_other_bits_are_counted(result):
    bits = {each.peer: each for each in result.bits}
    assert bits["openblas"].elements == bits[BLOCKED].elements == (16 + 32) * 2304
    assert bits[BLOCKED].shapes_different == 1 and bits[BLOCKED].different > 1000


def test_the_page_has_all_tables_and_says_who_is_missing(result, tmp_path):
    told = document(result, ["openblas"])
    (tmp_path / "m.json").write_text(
        '{"rows": [{"label": "T=1", "trials": 4, "seconds": 47.0, "us": 6869.0, "gflops": 8.2, "error": 1e-6}]}'
    )
    page = page_of(told, result, "p.png", read_searched(tmp_path / "m.json"))
    assert "| T=1 | 4 | 47 | 6,869 |  |" in page
    for part in ("## dense, 1 thread", "## Fresh shapes", "## Bits", "## Not timed", "![share of peak"):
        assert part in page
    assert f"- {WRONG} on dense, 1 threads: its answer is off by" in page
    console = Console(record=True, width=200, file=None, quiet=False)
    with console.capture() as printed:
        print_report(result, console)
    assert "NumPy (OpenBLAS)" in printed.get()


def row(label, own, other, flops=1e9, workload="dense", threads=1):
    peers = [
        ShapeTimes(name, Spread(us, us, us), 0.0) for name, us in ((OWN, own), (STRONGEST[0], other)) if us
    ]
    return ShapeRow(workload, threads, label, int(flops), peers)


def planned(rows, **fields):
    empty = {"served": [], "fresh": [], "bits": [], "grown": [], "tuned": [], "refused": []} | fields
    ceilings = [Ceilings(1, 100.0, ()), Ceilings(2, 200.0, ())]
    return ShapesResult(ShapesSettings(2, 0.1, 0.0, True), ceilings, rows, **empty)


def test_goals_are_shares_of_peak_and_ratios():
    # A GFLOP in 10,000 us is all of 100 GFLOP/s; the peer takes 0.9 of the second row's time.
    goals = {
        goal.what: goal
        for goal in goals_of(planned([row("T=1", 10_000, 11_000), row("T=2", 20_000, 18_000)]))
    }
    assert goals["dense, 1 thread, share of peak, T = 1"].met
    least = goals["dense, 1 thread, share of peak, least"]
    assert (least.measured, least.met) == ("0.500", False)
    least = goals["dense, 1 thread, best of oneDNN, ONNX Runtime, OpenBLAS over ours, least"]
    assert (least.measured, least.met) == ("0.900", False)


def test_predictions_and_bytes_are_compared_with_what_was_measured():
    served = [
        Served("dense", 2, OWN, 0.5, 30_000, 3),
        Served("dense 4 x 4", 2, OWN, 0.5, 30_000, 3, {"T=1": 102.0, "T=2": 100.0}),
    ]
    rows = [row(label, 100, 0, workload="dense 4 x 4", threads=2) for label in ("T=1", "T=2")]
    goals = {goal.what: goal for goal in goals_of(planned(rows, served=served))}
    assert goals["predicted against measured, worst error"].measured == "0.020"
    assert goals["predicted against measured, median error"].met
    for took, met in ((30.0, True), (80.0, False)):
        (goal,) = [
            goal
            for goal in goals_of(planned([], served=[Served("dense", 2, OWN, 0.5, dispatch_ns=took)]))
            if "no rows" in goal.what
        ]
        assert goal.met == met
    assert goals["variants of dense"].met and not goals["bytes of code of dense"].met


def test_bits_have_to_be_enough_and_the_same():
    for elements, different, met in ((10**8, 0, True), (10**8, 1, False), (10**7, 0, False)):
        goal, _ = goals_of(planned([], bits=[Bits(OWN, 2, elements, different, 2, 0, "a")]))
        assert goal.met == met and goal.number == 6
    for other, met in (("a", True), ("b", False)):
        bits = [Bits(OWN, 2, 10**8, 0, 2, 0, "a"), Bits("exact", 1, 10**8, 0, 2, 0, other)]
        _, goal = goals_of(planned([], bits=bits))
        assert goal.met == met


def test_a_first_call_is_over_the_bound_or_not():
    fresh = _fresh("one", [[1_000_000, 1_000_000, 999_000], [1_200_000, 1_000_000, 1_000_000]])
    assert fresh.over == 0.5 and fresh.noise == 0 and fresh.extra.low < fresh.extra.high
    assert _fresh("one", [[1_000_000, 1_100_000, 1_000_000]]).noise == 1


def test_the_papers_figures_are_of_one_tile_and_of_all_rows(tmp_path):
    figures = measure_figures((1, 2), 1, 0.0)
    rows, _ = tile_of(this_machine())
    tiles = [each.tiles for each in figures.grid]
    assert tiles == sorted(set(tiles)) and all(each.gflops > 0 for each in figures.grid)
    padded = {each.rows: each.padding for each in figures.factors}
    assert padded[rows] == 1 and padded[3 * rows // 2] == pytest.approx(4 / 3)
    for each in figures.factors:
        assert each.predicted == pytest.approx(each.local / each.spatial / each.padding)
    shares = [each.share for each in figures.joint]
    assert shares == sorted(shares) and figures.voted[0].choices == 1
    result = planned([], figures=figures)
    page = page_of(document(result, []), result)
    assert all(f"## DietCode, figure {number}" in page for number in (12, 13, 14))
    plot(result, tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 1000


def test_the_reference_of_a_convolution_is_its_definition():
    sizes = Convolution(1, 4, 2, 3, 3)
    problem = ShapesProblem("conv", ("",), (sizes,), 1)
    (x,), w = problem.operands(sizes), problem.weights(sizes)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    wanted = [
        [
            [np.sum(padded[0, i : i + 3, j : j + 3].transpose(2, 0, 1) * w[f]) for f in range(3)]
            for j in range(4)
        ]
        for i in range(4)
    ]
    np.testing.assert_allclose(reference(problem, sizes, (x,))[0], wanted, rtol=1e-5, atol=1e-5)


def test_inputs_of_fewer_rows_are_the_first_of_more():
    problem = ShapesProblem("d", ("", ""), (Dense(2, 3, 4), Dense(5, 3, 4)), 1)
    few, many = (problem.operands(sizes)[0] for sizes in problem.shapes)
    assert np.array_equal(few, many[:2])
    assert BatchedProduct(2, 3, 4, 5, True).operands == ((2, 3, 4), (2, 5, 4))


def test_the_workloads_are_the_papers():
    found = workloads(Extent(), 2)
    assert len(found["dense"].shapes) == 128 and found["dense"].shapes[-1] == Dense(2048, 768, 2304)
    assert found["batched scores"].shapes[0] == BatchedProduct(192, 5, 64, 5, True)
    rows = [sizes.rows for sizes in stream(Extent(), 2).shapes]
    assert len(rows) == len(set(rows)) == 1000


def test_the_command_knows_its_names():
    _, options = parse(["--quick", "--workloads", "dense", "--peers", "ragged"])
    assert options.workloads == ("dense",) and options.quick
    with pytest.raises(SystemExit):
        parse(["--peers", "nothing"])
    assert set(STRONGEST) <= set(SHAPES_PEERS)


def test_stated_tiles_have_the_same_answers_for_all_numbers_of_rows():
    problem = ShapesProblem("r", tuple("abc"), tuple(Dense(rows, 8, 48) for rows in (1, 9, 17)), 1)
    for peer in (Exact, Padded):
        own = peer(problem)
        for sizes in problem.shapes:
            operands = problem.operands(sizes)
            np.testing.assert_allclose(
                own.call(sizes, operands)(), reference(problem, sizes, operands), rtol=1e-4, atol=1e-5
            )


def test_tiles_that_are_tried_fill_the_registers():
    for machine in PROCESSORS.values():
        rows, vectors = tile_of(machine)
        assert rows * vectors + vectors + 1 <= machine.vector_registers
        found = full_tiles(machine, Dense(16, 768, 2304))
        assert 5 <= len(found) <= 25
        assert all(2304 % (vectors * machine.lanes(4)) == 0 for _, vectors in found)


@pytest.mark.parametrize(
    "shapes",
    [
        [Dense(16, 8, 32), Dense(16, 5, 48)],
        [Dense(16, 8, 32), Dense(32, 8, 32)],
        [BatchedProduct(2, 3, 8, 3, True), BatchedProduct(2, 5, 8, 5, True)],
        [BatchedProduct(2, 3, 3, 16, False), BatchedProduct(2, 5, 5, 16, False)],
        [Convolution(1, 4, 16, 16, 3), Convolution(2, 4, 16, 16, 3)],
    ],
    ids=str,
)
def test_one_function_of_ours_serves_all_shapes(shapes):
    problem = ShapesProblem("all", tuple("ab"), tuple(shapes), 1)
    own = compiled.Measured(problem)
    for sizes in shapes:
        operands = problem.operands(sizes)
        found = own.array(own.call(sizes, operands)())
        np.testing.assert_allclose(found, reference(problem, sizes, operands), rtol=1e-4, atol=1e-5)
    details = own.details()
    assert details["code_bytes"] > 0
    assert (details["dispatch_ns"] is not None) == (
        isinstance(shapes[0], Dense) and shapes[0].k == shapes[1].k
    )
