"""Arithmetic on intervals of integers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeAlias

from ragged.ir.dtype import DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.ops import BinaryOp, UnaryOp

Interval: TypeAlias = tuple[float, float]
"""Both ends are included; integers, or minus and plus infinity."""

ANYTHING: Interval = (-math.inf, math.inf)

INVERSE = {
    BinaryOp.LT: BinaryOp.GE,
    BinaryOp.GE: BinaryOp.LT,
    BinaryOp.GT: BinaryOp.LE,
    BinaryOp.LE: BinaryOp.GT,
    BinaryOp.EQ: BinaryOp.NE,
    BinaryOp.NE: BinaryOp.EQ,
}
MIRROR = {
    BinaryOp.LT: BinaryOp.GT,
    BinaryOp.GT: BinaryOp.LT,
    BinaryOp.LE: BinaryOp.GE,
    BinaryOp.GE: BinaryOp.LE,
    BinaryOp.EQ: BinaryOp.EQ,
    BinaryOp.NE: BinaryOp.NE,
}


def bound(op: BinaryOp, other: Interval) -> Interval:
    """Return the interval that `x op other` implies for the integer x."""
    match op:
        case BinaryOp.LT:
            return (-math.inf, other[1] - 1)
        case BinaryOp.LE:
            return (-math.inf, other[1])
        case BinaryOp.GT:
            return (other[0] + 1, math.inf)
        case BinaryOp.GE:
            return (other[0], math.inf)
        case BinaryOp.EQ:
            return other
        case _:
            return ANYTHING


def compare(op: BinaryOp, a: Interval, b: Interval) -> bool | None:
    """Return the value of `a op b` for integers of these intervals, or None if it may be either."""
    match op:
        case BinaryOp.LT:
            return True if a[1] < b[0] else False if a[0] >= b[1] else None
        case BinaryOp.LE:
            return True if a[1] <= b[0] else False if a[0] > b[1] else None
        case BinaryOp.GT | BinaryOp.GE:
            return compare(MIRROR[op], b, a)
        case BinaryOp.EQ | BinaryOp.NE:
            apart = a[1] < b[0] or b[1] < a[0]
            same = a[0] == a[1] == b[0] == b[1]
            equal = False if apart else True if same else None
            return equal if op is BinaryOp.EQ or equal is None else not equal
        case _:
            return None


def converted(dtype: DType, a: Interval) -> Interval:
    """Return the interval of `Cast(dtype, x)` for integers x of `a`: the type's limits where they wrap in pieces."""
    least, greatest = dtype.limits
    modulus = greatest - least + 1
    if (
        not (math.isfinite(a[0]) and math.isfinite(a[1]))
        or (a[0] - least) // modulus != (a[1] - least) // modulus
    ):
        return least, greatest
    offset = (a[0] - least) // modulus * modulus
    return a[0] - offset, a[1] - offset


def unary(op: UnaryOp | Elementwise, a: Interval) -> Interval:
    """Return an interval of `op a`."""
    match op:
        case UnaryOp.NEG:
            return (-a[1], -a[0])
        case UnaryOp.ABS:
            return (max(0, a[0], -a[1]), max(-a[0], a[1]))
        case _:
            return ANYTHING


def binary(op: BinaryOp, a: Interval, b: Interval) -> Interval:
    """Return an interval of `a op b`."""
    match op:
        case BinaryOp.ADD:
            return (a[0] + b[0], a[1] + b[1])
        case BinaryOp.SUB:
            return (a[0] - b[1], a[1] - b[0])
        case BinaryOp.MUL:
            ends = [0 if 0 in (x, y) else x * y for x in a for y in b]
            return (min(ends), max(ends))
        case BinaryOp.FLOORDIV if b[0] > 0 or b[1] < 0:
            quotients = [_floor(x, y) for x in a for y in b]
            return (min(quotients), max(quotients))
        case BinaryOp.MOD if b[0] > 0:
            return _modulo(a, b)
        case BinaryOp.MIN:
            return (min(a[0], b[0]), min(a[1], b[1]))
        case BinaryOp.MAX:
            return (max(a[0], b[0]), max(a[1], b[1]))
        case _:
            return ANYTHING


def _floor(value: float, divisor: float) -> float:
    if math.isinf(value):
        return value if divisor > 0 else -value
    return value // divisor


def _modulo(a: Interval, b: Interval) -> Interval:
    """Return an interval of remainders by a positive divisor: exact where the quotient is one number."""
    if a[0] >= 0 and a[1] < b[0]:
        return a
    if b[0] == b[1] and _floor(a[0], b[0]) == _floor(a[1], b[0]) and math.isfinite(a[0]):
        return (a[0] % b[0], a[1] % b[0])
    return (0, b[1] - 1)


def meet(a: Interval, b: Interval) -> Interval:
    """Return the intersection; its ends cross if it is empty."""
    return (max(a[0], b[0]), min(a[1], b[1]))


def hull(parts: Iterable[Interval]) -> Interval:
    """Return the smallest interval that contains all the parts."""
    lows, highs = zip(*parts, strict=True)
    return (min(lows), max(highs))
