"""Outermost loops of one iteration are left out, and of few fused, so that workers share what is inside."""

import numpy as np
import pytest

import ragged
from ragged import tc
from ragged.auto.share_evenly import share_evenly
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.schedule.loop_schedule import LoopSchedule

PROGRAM = """\
program("scale")

C: call()
x: payload(float32[{extent}, C])
y: output(float32[{extent}, C])

with kernel:
    for b in parallel({extent}):
        for c in {kind}(C):
            y[b, c] = 2.0 * x[b, c]
"""


def shared(extent, kind="parallel", threads=2):
    program = parse(PROGRAM.format(extent=extent, kind=kind))
    schedule = LoopSchedule(program)
    share_evenly(schedule, threads)
    given = {"x": np.arange(extent * 5, dtype=np.float32).reshape(extent, 5)}
    found = interpret(schedule.program, {"C": 5}, dict(given))
    assert np.array_equal(found["y"], 2 * given["x"])
    return to_text(schedule.program).partition("with kernel:\n")[2].splitlines()[0].strip()


@pytest.mark.parametrize("kind", ["parallel", "serial"])
def test_a_loop_of_one_iteration_is_left_out(kind):
    assert shared(1, kind) == "for c in parallel(C):"


def test_loops_that_workers_share_stay():
    assert shared(3) == "for b in parallel(3):"
    assert shared(1, threads=1) == "for b in parallel(1):"


NEST = """\
program("nest")

B: call()
C: call()
T: call()
x: payload(float32[B, {extent}, T])
y: output(float32[B, {extent}, T])

with kernel:
    for b in parallel(B):
        for c in {kind}({extent}):
            for t in serial(T):
                y[b, c, t] = {value}
"""


@pytest.mark.parametrize(
    ("extent", "kind", "value", "first"),
    [
        ("C", "serial", "2.0 * x[b, c, t]", "for b_c in parallel(B * C):"),
        ("C", "parallel", "2.0 * x[b, c, t]", "for b_c in parallel(B * C):"),
        ("8", "serial", "2.0 * x[b, c, t]", "for b in parallel(B):"),  # as many as a schedule expects
        ("C", "serial", "y[b, C - 1 - c, t]", "for b in parallel(B):"),  # rows that wait for others
    ],
)
def test_a_batch_of_any_number_and_its_rows_are_one_loop(extent, kind, value, first):
    program = parse(NEST.format(extent=extent, kind=kind, value=value))
    schedule = LoopSchedule(program)
    share_evenly(schedule, 2)
    if "x" in value:
        for batch in (0, 1, 3):
            x = np.arange(batch * 40, dtype=np.float32).reshape(batch, 8, 5)
            found = interpret(schedule.program, {"B": batch, "C": 8, "T": 5}, {"x": x})
            assert np.array_equal(found["y"], 2 * x)
    text = to_text(schedule.program).partition("with kernel:\n")[2]
    assert text.splitlines()[0].strip() == first


def test_loops_around_sums_are_left_to_other_rules():
    text = "def f(float(B,C,T) x) -> (y) { y(b,c) +=! x(b,c,t) * x(b,c,T - 1 - t) }"
    program = parse(tc.define(text).f.compile(schedule=None, threads=1).show("loops"))
    schedule = LoopSchedule(program)
    before = to_text(schedule.program)
    share_evenly(schedule, 2)
    assert to_text(schedule.program) == before


def test_loops_that_pack_an_input_are_left_to_other_rules():
    """One loop over panels and rows is not transposed."""
    text = """def kronecker(float(D,N) W, float(M,L,N) X, float(E,L) V) -> (Y, Z) {
      Y(m,l,d) +=! W(d,n) * X(m,l,n)
      Z(m,e,d) +=! V(e,l) * Y(m,l,d)
    }"""
    steps = tc.define(text).kronecker.compile(threads=2).show("schedule")
    assert "apply(pack, s.buffer('W')" in steps and "apply(cache_write, s.statement('W_packed" in steps
    assert "apply(fuse, s.loop('W_0')" not in steps


def test_products_of_one_image_are_shared():
    text = """def f(float(B,R,T) x, float(C,R) w) -> (y, z) {
      y(b,c,t) +=! x(b,r,t) * w(c,r)
      z(b,c,t) = fmax(y(b,c,t), 0)
    }"""
    function = tc.define(text).f
    x, w = (np.random.default_rng(0).standard_normal(s).astype(np.float32) for s in ((1, 8, 40), (12, 8)))
    sizes = {"B": 1, "C": 12, "R": 8, "T": 40}
    one, two = (function.compile(sizes=sizes, threads=threads) for threads in (1, 2))
    assert " * 1 // workers" not in two.show("loops")
    for name, found in two(x, w).items():
        assert np.array_equal(found, one(x, w)[name])


@pytest.mark.parametrize("combiner", ["sum", "max"])
def test_columns_that_are_summed_side_by_side_are_shared_in_blocks(combiner):
    row, column = ragged.dim("row"), ragged.dim("column")
    x = ragged.input_tensor("x", [(row, ragged.size("M")), (column, ragged.size("N"))])
    reduce = getattr(ragged, combiner)
    tensor = ragged.compute(
        "y", [(column, ragged.size("N"))], lambda j: reduce(ragged.size("M"), lambda i: ragged.exp(x[i, j]))
    )
    one, two = (ragged.compile(tensor, threads=threads) for threads in (1, 2))
    assert "in team(workers)" in two.show("loops") and "in vectorized" in two.show("loops")
    random = np.random.default_rng(0)
    for rows, columns in ((30, 200), (3, 64), (0, 5), (5, 0), (1, 1)):
        given = random.standard_normal((rows, columns), np.float32)
        assert np.array_equal(two(x=given), one(x=given))
        if rows:
            np.testing.assert_allclose(one(x=given), getattr(np.exp(given), combiner)(0), rtol=1e-5)
