"""Indices as sums: they mean what they meant, and divisions go where extents allow it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged.arith.affine import affine
from ragged.arith.index_intervals import at_most, below, bounds_of, divided
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Const, Ref, Unary, Var
from ragged.ir.interpret.evaluate import Evaluator
from ragged.ir.interpret.memory import Frame
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.printer import expr_text

EXTENTS = {Var("i"): 4, Var("j"): 7, Var("k"): 16}
FREE = Var("n")
LEAVES = st.one_of(st.integers(-20, 20).map(Const), st.sampled_from([*EXTENTS, FREE]).map(Ref))


def _larger(parts):
    operators = st.sampled_from([BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX])
    return st.one_of(
        st.builds(Binary, operators, parts, parts),
        st.builds(Unary, st.just(UnaryOp.NEG), parts),
        st.builds(lambda a, by: Binary(BinaryOp.MOD, a, Const(by)), parts, st.integers(1, 9)),
        st.builds(lambda a, by: Binary(BinaryOp.FLOORDIV, a, Const(by)), parts, st.integers(1, 9)),
    )


INDICES = st.recursive(LEAVES, _larger, max_leaves=8)
PLACES = st.fixed_dictionaries(
    {**{var: st.integers(0, extent - 1) for var, extent in EXTENTS.items()}, FREE: st.integers(-9, 9)}
)


def value(expr, place):
    return int(Evaluator().compile(expr)(Frame(dict(place), {}, place="a test")))


@given(INDICES, PLACES)
def test_a_sum_is_what_it_was(index, place):
    assert value(affine(index).expr, place) == value(index, place)


@given(INDICES, PLACES)
def test_an_interval_holds_every_value(index, place):
    bounds = bounds_of(index, below(EXTENTS))
    assert bounds is None or bounds[0] <= value(index, place) <= bounds[1]


@given(INDICES, PLACES, st.integers(1, 20))
def test_divisions(index, place, by):
    quotient, rest = divided(index, by, EXTENTS)
    assert (value(quotient, place), value(rest, place)) == divmod(value(index, place), by)


def test_an_upper_bound_of_what_is_left_of_a_tile():
    size, tile = Ref(Var("N")), Ref(Var("t"))
    left = Binary(BinaryOp.SUB, size, Binary(BinaryOp.MUL, tile, Const(64)))
    short = Binary(BinaryOp.MIN, left, Const(64))
    vectors = Binary(BinaryOp.FLOORDIV, Binary(BinaryOp.ADD, short, Const(15)), Const(16))
    assert at_most(vectors, {}) == 4
    assert at_most(Binary(BinaryOp.MUL, vectors, Const(-1)), {}) is None
    assert at_most(Binary(BinaryOp.FLOORDIV, left, Const(16)), {}) is None


def test_no_division_is_left_of_tiles():
    i, k = (Ref(var) for var in EXTENTS if var.name in "ik")
    index = Binary(BinaryOp.ADD, Binary(BinaryOp.MUL, Ref(FREE), Const(16)), k)
    assert [expr_text(part) for part in divided(index, 16, EXTENTS)] == ["n", "k"]
    assert [expr_text(part) for part in divided(Binary(BinaryOp.ADD, Const(35), i), 16, EXTENTS)] == [
        "2",
        "i + 3",
    ]
    assert [expr_text(part) for part in divided(Ref(FREE), 16, EXTENTS)] == ["n // 16", "n % 16"]


@pytest.mark.parametrize("value", [0.5, 2.0, float("inf")])
def test_numbers_of_values_are_terms(value):
    """What looks for an index in a body asks about sums of floats too; an infinity made it fail, a half became zero."""
    number = Const(value, DType.FLOAT32)
    assert affine(Binary(BinaryOp.ADD, number, number)).terms == {number: 2}
