"""Places in matrices of unknown width are told apart by rows and columns, and only where columns are in their rows."""

from __future__ import annotations

from functools import partial, reduce

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ragged.ir.build import add, both
from ragged.ir.expr import Binary, Buffer, Call, Const, Expr, Function, Load, Ref, Role, Var
from ragged.ir.fact import Fact
from ragged.ir.facts import PrefixSum, Range
from ragged.ir.interpret.evaluate import Evaluator
from ragged.ir.interpret.memory import Frame
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.prove import Proof, Prover, Unproven
from ragged.prove import prover as proving
from ragged.prove.row_major import by_rows_and_columns
from tests.ragged.test_prove import op, own, size, table

R, J, K, L, B, N, M = (Var(name) for name in "rjklbnm")
BATCHES = size("batches")
WIDTH, HEIGHT = (table(name, Call(BATCHES)) for name in ("width", "height"))
START = table("start", op(BinaryOp.ADD, Call(BATCHES), 1))


def of(function: Function) -> Expr:
    return Call(function, (Ref(B),))


def place(row: Var, width: Expr, column: Expr | Var, start: Expr) -> Expr:
    return add(start, op(BinaryOp.ADD, op(BinaryOp.MUL, row, width), column))


def test_rows_of_one_width_are_compared_by_rows_and_columns():
    goal = op(BinaryOp.NE, place(R, of(WIDTH), J, of(START)), place(K, of(WIDTH), L, of(START)))
    found = by_rows_and_columns(goal)
    assert found is not None
    assert expr_text(found.goal) == "r != k or j != l"
    assert [expr_text(bound) for bound in found.bounds] == [
        "0 <= j and j < width(b)",
        "0 <= l and l < width(b)",
    ]


def test_rows_of_rows_are_cut_at_the_innermost_width():
    def volume(a: Var, b: Var, c: Var) -> Expr:
        outer = op(BinaryOp.MUL, op(BinaryOp.MUL, a, N), M)
        return add(add(outer, op(BinaryOp.MUL, b, M)), Ref(c))

    found = by_rows_and_columns(op(BinaryOp.NE, volume(R, J, K), volume(J, K, L)))
    assert found is not None
    assert expr_text(found.goal) == "r * n + j != j * n + k or k != l"


def test_what_has_no_common_width_is_left_alone():
    numbers = op(BinaryOp.NE, place(R, Const(8), J, of(START)), place(K, Const(8), L, of(START)))
    others = op(BinaryOp.NE, place(R, of(WIDTH), J, of(START)), place(K, of(HEIGHT), L, of(START)))
    same = op(BinaryOp.EQ, place(R, of(WIDTH), J, of(START)), place(K, of(WIDTH), L, of(START)))
    assert [by_rows_and_columns(goal) for goal in (numbers, others, same)] == [None] * 3


def test_what_is_loaded_may_change_between_the_two():
    loaded = Load(Buffer("x", R.dtype, (Const(4),), Role.WORKSPACE), (Ref(B),))
    assert (
        by_rows_and_columns(op(BinaryOp.NE, place(R, loaded, J, of(START)), place(K, loaded, L, of(START))))
        is None
    )
    found = by_rows_and_columns(
        op(BinaryOp.NE, place(R, of(WIDTH), J, loaded), place(K, of(WIDTH), L, loaded))
    )
    assert found is not None
    assert expr_text(found.goal) == "r != k or x[b] + j != x[b] + l"


factors = st.sampled_from([Ref(var) for var in (R, J, K, N, M)] + [Const(2), Const(3)])
products = st.lists(factors, min_size=1, max_size=3).map(partial(reduce, partial(op, BinaryOp.MUL)))
rows = st.builds(
    lambda row, width, column: add(op(BinaryOp.MUL, row, width), column), factors, products, products
)
sums = rows | st.builds(add, rows, products) | st.builds(add, products, rows)
differ = st.builds(lambda one, other: op(BinaryOp.NE, one, other), sums, sums)


@given(
    differ | st.builds(lambda one, other: Binary(BinaryOp.OR, one, other), differ, differ),
    st.integers(0, 2**32),
)
@settings(max_examples=200, deadline=None)
def test_what_is_asked_instead_implies_the_goal(goal, seed):
    found = by_rows_and_columns(goal)
    assume(found is not None)
    assert found is not None
    evaluator, random = Evaluator(), np.random.default_rng(seed)
    held, simpler, bounds = (
        evaluator.compile(each) for each in (goal, found.goal, reduce(both, found.bounds))
    )
    for values in random.integers(-1, 4, (200, 7)):
        frame = Frame(dict(zip((R, J, K, L, B, N, M), map(int, values), strict=True)), {})
        assert held(frame) or not (simpler(frame) and bounds(frame)), dict(
            zip("rjklbnm", values, strict=True)
        )


# Panels of 64 columns of a matrix, and the columns after the last whole panel: those of a product of matrices.
PANEL, LANE, REST = Var("panel"), Var("lane"), Var("rest")
WHOLE = op(BinaryOp.FLOORDIV, of(WIDTH), 64)
IN_PANELS = op(BinaryOp.ADD, op(BinaryOp.MUL, PANEL, 64), Ref(LANE))
AFTER_THEM = op(BinaryOp.ADD, op(BinaryOp.MUL, WHOLE, 64), Ref(REST))
PANELS = {
    "loops": [
        (B, Call(BATCHES)),
        (R, of(HEIGHT)),
        (PANEL, WHOLE),
        (LANE, Const(64)),
        (K, of(HEIGHT)),
        (REST, op(BinaryOp.SUB, of(WIDTH), op(BinaryOp.MUL, WHOLE, 64))),
    ]
}


WIDTHS = Range(WIDTH, Const(0), Const(2**31))


def prover(effort: int, *more: Range) -> Prover:
    facts: tuple[Fact, ...] = (
        WIDTHS,
        Range(HEIGHT, Const(0), Const(2**31)),
        PrefixSum(START, WIDTH),
        *more,
    )
    functions = (BATCHES, WIDTH, HEIGHT, START, *(fact.function for fact in more))
    return Prover(Program("panels", functions, (), facts, ()), effort=effort, answers=None)


def test_little_tells_panels_of_unknown_width_apart(monkeypatch):
    """The solver does not find this by itself."""
    goal = op(
        BinaryOp.NE, place(R, of(WIDTH), IN_PANELS, of(START)), place(K, of(WIDTH), AFTER_THEM, of(START))
    )
    assert prover(200_000).prove(goal, **PANELS) == Proof(frozenset({WIDTHS}))
    monkeypatch.setattr(proving, "by_rows_and_columns", lambda _: None)
    assert prover(200_000).prove(goal, **PANELS) == Unproven("resource limit")


def test_columns_past_their_row_are_not_taken_for_others():
    further = add(AFTER_THEM, 1)
    goal = op(BinaryOp.NE, place(R, of(WIDTH), IN_PANELS, of(START)), place(K, of(WIDTH), further, of(START)))
    assert isinstance(prover(2_000_000).prove(goal, **PANELS), Unproven)


def test_a_proof_has_the_facts_of_its_bounds(monkeypatch):
    column = table("column", Call(BATCHES))
    width = Call(WIDTH, (own(column),))
    left_over = op(BinaryOp.SUB, width, op(BinaryOp.MUL, op(BinaryOp.FLOORDIV, width, 64), 64))
    inside = Range(column, Const(0), left_over)
    after = op(BinaryOp.ADD, op(BinaryOp.MUL, WHOLE, 64), of(column))
    goal = op(BinaryOp.NE, place(R, of(WIDTH), IN_PANELS, of(START)), place(K, of(WIDTH), after, of(START)))
    assert prover(200_000, inside).prove(goal, **PANELS) == Proof(frozenset({WIDTHS, inside}))
    monkeypatch.setattr(proving, "by_rows_and_columns", lambda _: None)
    assert prover(200_000, inside).prove(goal, **PANELS) == Unproven("resource limit")
