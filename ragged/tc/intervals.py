"""Values of integer expressions for given sizes: an interval for each, exact for sums of multiples of indices."""

from __future__ import annotations

from collections.abc import Mapping

from ragged.arith.affine import Interval, affine
from ragged.ir.expr import Binary, Cast, Const, Expr, Ref, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp

_COMPARED = (BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE, BinaryOp.EQ, BinaryOp.NE)


def value_of(expr: Expr, sizes: Mapping[Var, int]) -> int:
    """Return the value of an expression of sizes."""
    intervals = {var: (value, value) for var, value in sizes.items()}
    found = interval_of(expr, intervals)
    assert found is not None and found[0] == found[1], "bounds of ranges are expressions of sizes"
    return found[0]


def interval_of(expr: Expr, intervals: Mapping[Var, Interval]) -> Interval | None:
    """Return the interval of an expression of variables with intervals; None if it is not known."""
    return affine(expr).bounds(lambda term: _term(term, intervals))


def _term(expr: Expr, intervals: Mapping[Var, Interval]) -> Interval | None:
    match expr:
        case Ref(var=var):
            return intervals.get(var)
        case Cast(operand=operand) if operand.dtype.is_int:
            return interval_of(operand, intervals)
        case Unary(op=UnaryOp.ABS, operand=operand):
            inner = interval_of(operand, intervals)
            return None if inner is None else _absolute(inner)
        case Select(condition=condition, if_true=if_true, if_false=if_false):
            known = truth_of(condition, intervals)
            branches = [if_true] * (known is not False) + [if_false] * (known is not True)
            return _hull([interval_of(each, intervals) for each in branches])
        case Binary(op=op, lhs=lhs, rhs=rhs):
            left, right = interval_of(lhs, intervals), interval_of(rhs, intervals)
            return None if left is None or right is None else _binary(op, left, right)
        case _:
            return None


def _binary(op: BinaryOp, left: Interval, right: Interval) -> Interval | None:
    match op:
        case BinaryOp.MIN:
            return min(left[0], right[0]), min(left[1], right[1])
        case BinaryOp.MAX:
            return max(left[0], right[0]), max(left[1], right[1])
        case BinaryOp.MUL:
            products = [a * b for a in left for b in right]
            return min(products), max(products)
        case BinaryOp.FLOORDIV if not right[0] <= 0 <= right[1]:
            quotients = [a // b for a in left for b in right]
            return min(quotients), max(quotients)
        case BinaryOp.MOD if right[0] > 0:
            if right[0] == right[1] and left[0] // right[0] == left[1] // right[0]:
                return left[0] % right[0], left[1] % right[0]
            return 0, right[1] - 1
        case _:
            return None


def truth_of(expr: Expr, intervals: Mapping[Var, Interval]) -> bool | None:
    """Return whether a condition holds for all values of the variables, or for none; None if neither is known."""
    match expr:
        case Const(value=value):
            return bool(value)
        case Unary(op=UnaryOp.NOT, operand=operand):
            inner = truth_of(operand, intervals)
            return None if inner is None else not inner
        case Binary(op=BinaryOp.AND | BinaryOp.OR as op, lhs=lhs, rhs=rhs):
            sides = {truth_of(lhs, intervals), truth_of(rhs, intervals)}
            decisive = op is BinaryOp.OR
            return decisive if decisive in sides else None if None in sides else not decisive
        case Binary(op=op, lhs=lhs, rhs=rhs) if op in _COMPARED and lhs.dtype.is_int:
            difference = interval_of(Binary(BinaryOp.SUB, lhs, rhs), intervals)
            return None if difference is None else _sign(op, difference)
        case _:
            return None


def _sign(op: BinaryOp, difference: Interval) -> bool | None:
    low, high = difference
    match op:
        case BinaryOp.LT:
            return True if high < 0 else False if low >= 0 else None
        case BinaryOp.LE:
            return True if high <= 0 else False if low > 0 else None
        case BinaryOp.GT:
            return True if low > 0 else False if high <= 0 else None
        case BinaryOp.GE:
            return True if low >= 0 else False if high < 0 else None
        case _:
            equal = True if low == high == 0 else False if low > 0 or high < 0 else None
            return equal if op is BinaryOp.EQ or equal is None else not equal


def _absolute(span: Interval) -> Interval:
    ends = sorted((abs(span[0]), abs(span[1])))
    return (0, ends[1]) if span[0] <= 0 <= span[1] else (ends[0], ends[1])


def _hull(intervals: list[Interval | None]) -> Interval | None:
    known = [each for each in intervals if each is not None]
    if len(known) < len(intervals):
        return None
    return min(low for low, _ in known), max(high for _, high in known)
