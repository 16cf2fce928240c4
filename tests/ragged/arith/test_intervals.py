"""Arithmetic on intervals contains what it is of all numbers in them, and comparisons hold for all."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from ragged.arith.intervals import binary, bound, compare, converted, hull, meet, unary
from ragged.ir.dtype import DType
from ragged.ir.ops import BinaryOp, UnaryOp

NUMBERS = st.integers(-9, 9)
ARITHMETIC = {
    BinaryOp.ADD: lambda x, y: x + y,
    BinaryOp.SUB: lambda x, y: x - y,
    BinaryOp.MUL: lambda x, y: x * y,
    BinaryOp.FLOORDIV: lambda x, y: x // y,
    BinaryOp.MOD: lambda x, y: x % y,
    BinaryOp.MIN: min,
    BinaryOp.MAX: max,
}
COMPARISONS = {
    BinaryOp.LT: lambda x, y: x < y,
    BinaryOp.LE: lambda x, y: x <= y,
    BinaryOp.GT: lambda x, y: x > y,
    BinaryOp.GE: lambda x, y: x >= y,
    BinaryOp.EQ: lambda x, y: x == y,
    BinaryOp.NE: lambda x, y: x != y,
}


@st.composite
def around(draw):
    """Draw a number and an interval that has it, with ends or without."""
    number = draw(NUMBERS)
    low, high = (draw(st.one_of(st.integers(0, 6), st.just(math.inf))) for _ in "lh")
    return number, (number - low, number + high)


@given(st.sampled_from(list(ARITHMETIC)), around(), around())
def test_what_is_computed_of_numbers_lies_in_what_is_of_their_intervals(op, left, right):
    (x, a), (y, b) = left, right
    assume(y != 0 or op not in (BinaryOp.FLOORDIV, BinaryOp.MOD))
    low, high = binary(op, a, b)
    assert low <= ARITHMETIC[op](x, y) <= high


@given(around())
def test_negations_and_absolute_values(drawn):
    x, a = drawn
    for op, value in ((UnaryOp.NEG, -x), (UnaryOp.ABS, abs(x))):
        low, high = unary(op, a)
        assert low <= value <= high


@given(
    st.sampled_from([each for each in DType if each.is_int]),
    st.integers(-(2**40), 2**40),
    st.integers(0, 300),
)
def test_conversions_keep_the_last_bits(dtype, low, more):
    numbers = np.arange(low, low + more + 1).astype(dtype.value).astype(np.int64)
    least, greatest = converted(dtype, (low, low + more))
    assert (least, greatest) in ((numbers.min(), numbers.max()), dtype.limits)
    assert least <= numbers.min() and numbers.max() <= greatest
    assert converted(dtype, (low, math.inf)) == dtype.limits


@given(st.sampled_from(list(ARITHMETIC)), NUMBERS, st.integers(1, 9))
def test_of_single_numbers_it_is_exact(op, x, y):
    value = ARITHMETIC[op](x, y)
    assert binary(op, (x, x), (y, y)) == (value, value)


def test_of_quotients_and_remainders_it_is_exact():
    assert binary(BinaryOp.FLOORDIV, (-7, 9), (2, 3)) == (-4, 4)
    assert binary(BinaryOp.FLOORDIV, (3, math.inf), (2, 2)) == (1, math.inf)
    assert binary(BinaryOp.FLOORDIV, (3, math.inf), (-2, -2)) == (-math.inf, -2)
    assert binary(BinaryOp.MOD, (9, 11), (8, 8)) == (1, 3)
    assert binary(BinaryOp.MOD, (7, 8), (8, 8)) == (0, 7)
    assert binary(BinaryOp.MOD, (2, 5), (8, 9)) == (2, 5)
    assert binary(BinaryOp.MOD, (-1, 5), (8, 9)) == (0, 8)


@given(st.sampled_from(list(COMPARISONS)), around(), around())
def test_comparisons_hold_for_all_numbers_of_the_intervals(op, left, right):
    (x, a), (y, b) = left, right
    known, holds = compare(op, a, b), COMPARISONS[op](x, y)
    assert known in (None, holds)
    low, high = bound(op, b)
    assert not holds or low <= x <= high


@given(st.sampled_from(list(COMPARISONS)), NUMBERS, NUMBERS)
def test_comparisons_of_single_numbers_are_known(op, x, y):
    assert compare(op, (x, x), (y, y)) is COMPARISONS[op](x, y)


@given(around(), around())
def test_intersections_and_hulls(left, right):
    (x, a), (y, b) = left, right
    low, high = meet(a, b)
    assert (low <= x <= high) == (b[0] <= x <= b[1])
    low, high = hull([a, b])
    assert low <= min(x, y) <= max(x, y) <= high
