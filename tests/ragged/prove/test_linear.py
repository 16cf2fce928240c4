"""What follows by linear arithmetic: only what holds, only what the solver proves too, and most of what places ask."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragged.arith.refute import refuted
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Call, Cast, Const, Expr, Load, Ref, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import mentions
from ragged.prove.context import relevant
from ragged.prove.linear import follows
from ragged.prove.query import Query
from ragged.prove.question import Question, numbered
from tests.ragged.codegen.hand import I32, buffer
from tests.ragged.test_prove import op, size, table

A, B, C, D, X = (Var(name) for name in "abcdx")
SIZE = size("size")
WIDTH = table("width", Call(SIZE))
COMPARISONS = (BinaryOp.EQ, BinaryOp.NE, BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE)


def question(goal: Expr, loops=(), lets=(), conditions=()) -> Question:
    return numbered(goal, relevant(goal, loops, lets, conditions))[0]


def sums(depth: int) -> st.SearchStrategy[Expr]:
    small = st.integers(-3, 3).map(Const)
    atoms = st.one_of(small, st.sampled_from((A, B, C, X)).map(Ref), st.just(Call(SIZE)))
    if depth == 0:
        return atoms
    inner = sums(depth - 1)
    return st.one_of(
        atoms,
        st.builds(Binary, st.sampled_from((BinaryOp.ADD, BinaryOp.SUB)), inner, inner),
        st.builds(Binary, st.just(BinaryOp.MUL), inner, st.sampled_from((2, 3, 4)).map(Const)),
        st.builds(Binary, st.sampled_from((BinaryOp.MIN, BinaryOp.MAX)), inner, inner),
        st.builds(Binary, st.sampled_from((BinaryOp.FLOORDIV, BinaryOp.MOD)), inner, st.just(Const(4))),
        st.builds(lambda index: Call(WIDTH, (index,)), inner),
    )


def goals(depth: int) -> st.SearchStrategy[Expr]:
    compared = st.builds(Binary, st.sampled_from(COMPARISONS), sums(2), sums(2))
    if depth == 0:
        return compared
    inner = goals(depth - 1)
    return st.one_of(
        compared,
        st.builds(Binary, st.sampled_from((BinaryOp.AND, BinaryOp.OR)), inner, inner),
        st.builds(lambda goal: Unary(UnaryOp.NOT, goal), inner),
        st.builds(lambda e: op(BinaryOp.LE, e, op(BinaryOp.ADD, e, 1)), sums(2)),
    )


def value(expr: Expr, scope: dict[Var, int], numbers: dict[object, int]) -> int:
    """Evaluate, in Python's integers."""
    match expr:
        case Const(value=found):
            return int(found)
        case Ref(var=var):
            return scope[var]
        case Call(function=function, args=args):
            key = (function, *(value(arg, scope, numbers) for arg in args))
            return numbers.get(key, numbers[function])
        case Unary(operand=operand):
            return not value(operand, scope, numbers)
        case Binary(op=operator, lhs=lhs, rhs=rhs):
            x, y = (value(side, scope, numbers) for side in (lhs, rhs))
            return {
                BinaryOp.ADD: lambda: x + y,
                BinaryOp.SUB: lambda: x - y,
                BinaryOp.MUL: lambda: x * y,
                BinaryOp.MIN: lambda: min(x, y),
                BinaryOp.MAX: lambda: max(x, y),
                BinaryOp.FLOORDIV: lambda: x // y,
                BinaryOp.MOD: lambda: x % y,
                BinaryOp.EQ: lambda: x == y,
                BinaryOp.NE: lambda: x != y,
                BinaryOp.LT: lambda: x < y,
                BinaryOp.LE: lambda: x <= y,
                BinaryOp.GT: lambda: x > y,
                BinaryOp.GE: lambda: x >= y,
                BinaryOp.AND: lambda: bool(x and y),
                BinaryOp.OR: lambda: bool(x or y),
            }[operator]()
    raise AssertionError(expr)


@settings(max_examples=300, deadline=None)
@given(goals(2), st.lists(goals(0), max_size=2), sums(1), sums(1), st.randoms(use_true_random=False))
def test_what_follows_holds_and_the_solver_proves_it(goal, conditions, let, extent, random):
    loops = ((A, Const(4)), (B, Call(SIZE)), (C, extent if not mentions(extent, (C, X)) else Const(2)))
    lets = ((X, let),) if not mentions(let, (X,)) else ((X, Const(1)),)
    asked = question(goal, loops, lets, conditions)
    if not follows(asked):
        return
    assert Query(asked, ()).alone(20_000_000) is not None
    for _ in range(40):
        numbers: dict[object, int] = {(SIZE,): random.randint(0, 5), SIZE: 0, WIDTH: random.randint(-4, 4)}
        numbers |= {(WIDTH, i): random.randint(-4, 4) for i in range(-3, 4)}
        scope = {A: random.randint(0, 3), B: random.randint(0, 5), C: random.randint(0, 4)}
        scope[X] = value(lets[0][1], scope, numbers)
        there = all(scope[var] < value(extent, scope, numbers) for var, extent in loops)
        if there and all(value(condition, scope, numbers) for condition in conditions):
            assert value(goal, scope, numbers)


forms = st.dictionaries(st.integers(0, 3), st.integers(-5, 5).filter(bool), min_size=1, max_size=4)


@settings(max_examples=250, deadline=None)
@given(st.lists(forms, max_size=3), st.lists(forms, max_size=6))
def test_what_is_refuted_has_no_solution(equal, positive):
    box = [{unknown: 1, 0: 4} for unknown in (1, 2, 3)] + [{unknown: -1, 0: 4} for unknown in (1, 2, 3)]
    if not refuted(equal, [*positive, *box]):
        return
    for x in product(range(-4, 5), repeat=3):
        sums_of = [
            [each.get(0, 0) + sum(each.get(u, 0) * x[u - 1] for u in (1, 2, 3)) for each in part]
            for part in (equal, positive)
        ]
        assert any(sums_of[0]) or min(sums_of[1], default=0) < 0


def place(row: Expr | Var, column: Expr | Var, width: int = 32) -> Expr:
    return op(BinaryOp.ADD, op(BinaryOp.MUL, row, width), column)


def either(*goals: Expr) -> Expr:
    first, *rest = goals
    return op(BinaryOp.OR, first, either(*rest)) if rest else first


LATER = Unary(UnaryOp.NOT, op(BinaryOp.LT, A, B))


@settings(max_examples=150, deadline=None)
@given(*[st.integers(1, 5)] * 5, st.sampled_from((BinaryOp.MIN, BinaryOp.MAX)), st.booleans())
def test_panels_told_apart_are_apart(width, lanes, rows, here, there, least, ordered):
    """Of `a * rows * width + here * width + c` for c in 0:least(size - a, lanes), and the like in another iteration."""
    places = [
        place(op(BinaryOp.ADD, op(BinaryOp.MUL, row, rows), at), column, width)
        for row, at, column in ((A, here, C), (B, there, D))
    ]
    extents = [Binary(least, op(BinaryOp.SUB, Call(SIZE), row), Const(lanes)) for row in (A, B)]
    goal = either(*[LATER] * ordered, op(BinaryOp.NE, *places))
    loops = ((A, Call(SIZE)), (B, Call(SIZE)), (C, extents[0]), (D, extents[1]))
    apart = all(
        (not a < b and ordered) or (a * rows + here) * width + c != (b * rows + there) * width + d
        for n in range(4)
        for a, b in product(range(n), repeat=2)
        for c in range((min if least is BinaryOp.MIN else max)(n - a, lanes))
        for d in range((min if least is BinaryOp.MIN else max)(n - b, lanes))
    )
    found = follows(question(goal, loops))
    assert apart or not found
    if least is BinaryOp.MIN and ordered and lanes <= width and here == there:
        assert found


ROWS = ((A, Const(4)), (B, Const(4)), (C, Const(32)), (D, Const(32)))
FOLLOW = {
    "other rows": (either(LATER, op(BinaryOp.NE, place(A, C), place(B, D))), ROWS),
    "other rows of unknown number": (
        either(LATER, op(BinaryOp.NE, place(A, C), place(B, D))),
        ((A, Call(SIZE)), (B, Call(SIZE)), *ROWS[2:]),
    ),
    "two orders": (
        either(
            Unary(UnaryOp.NOT, either(op(BinaryOp.LT, A, B), op(BinaryOp.GT, A, B), op(BinaryOp.LT, C, D))),
            op(BinaryOp.NE, place(A, C), place(B, D)),
        ),
        ROWS,
    ),
    "in blocks": (
        op(BinaryOp.LT, op(BinaryOp.ADD, op(BinaryOp.MUL, A, 4), op(BinaryOp.MOD, X, 4)), 16),
        ROWS,
    ),
    "what stays": (
        op(BinaryOp.NE, op(BinaryOp.ADD, Call(WIDTH, (Ref(A),)), 1), Call(WIDTH, (Ref(A),))),
        ROWS,
    ),
}
UNKNOWN = {
    "a neighbour": (either(LATER, op(BinaryOp.NE, place(A, C, 31), place(B, D, 31))), ROWS),
    "what may change": (op(BinaryOp.EQ, *[Load(buffer("w", 4, dtype=I32), (Ref(A),))] * 2), ROWS),
    "what is cut off": (op(BinaryOp.EQ, *[Cast(I32, Ref(A))] * 2), ROWS),
    "a choice": (op(BinaryOp.GE, Select(op(BinaryOp.LT, A, 2), Ref(A), Const(0)), 0), ROWS),
    "a float": (Binary(BinaryOp.EQ, Const(0.0, DType.FLOAT32), Const(0.0, DType.FLOAT32)), ROWS),
}


@pytest.mark.parametrize(("goal", "loops"), FOLLOW.values(), ids=FOLLOW)
def test_what_follows(goal, loops):
    assert follows(question(goal, loops))


@pytest.mark.parametrize(("goal", "loops"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_left_to_the_solver(goal, loops):
    assert not follows(question(goal, loops))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_rest_as_large_as_the_number_is_a_multiple_of_it(sign):
    """`4 * a + b` is zero at a = 1, b = -4, and at a = -1, b = 4."""
    within = [{2: sign, 0: 4}, {2: -sign}]
    assert not refuted([{1: 4, 2: 1}], [*within, {1: sign, 0: -1}])
    assert refuted([{1: 4, 2: 1}], [{2: sign, 0: 3}, {2: -sign}, {1: sign, 0: -1}])
