"""Values of integer expressions for given sizes: an interval for each, exact for sums of multiples of indices."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from ragged.arith.affine import Bounds, affine
from ragged.arith.intervals import ANYTHING, Interval, binary, compare, converted, hull, unary
from ragged.ir.expr import Binary, Cast, Const, Expr, Ref, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp

_COMPARED = (BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE, BinaryOp.EQ, BinaryOp.NE)


def value_of(expr: Expr, sizes: Mapping[Var, int]) -> int:
    """Return the value of an expression of sizes."""
    intervals = {var: (value, value) for var, value in sizes.items()}
    found = interval_of(expr, intervals)
    assert found is not None and found[0] == found[1], "bounds of ranges are expressions of sizes"
    return found[0]


def interval_of(expr: Expr, intervals: Mapping[Var, Bounds]) -> Bounds | None:
    """Return the interval of an expression of variables with intervals; None if it is not known."""
    return affine(expr).bounds(lambda term: _term(term, intervals))


def _term(expr: Expr, intervals: Mapping[Var, Bounds]) -> Bounds | None:
    def of(part: Expr) -> Interval:
        return interval_of(part, intervals) or ANYTHING

    match expr:
        case Ref(var=var):
            return intervals.get(var)
        case Cast(dtype=dtype, operand=operand) if dtype.is_int and operand.dtype.is_int:
            found = interval_of(operand, intervals)
            low, high = ANYTHING if found is None else converted(dtype, found)
        case Unary(op=op, operand=operand):
            low, high = unary(op, of(operand))
        case Select(condition=condition, if_true=if_true, if_false=if_false):
            known = truth_of(condition, intervals)
            low, high = hull(map(of, [if_true] * (known is not False) + [if_false] * (known is not True)))
        case Binary(op=op, lhs=lhs, rhs=rhs):
            low, high = binary(op, of(lhs), of(rhs))
        case _:
            return None
    return (int(low), int(high)) if isfinite(low) and isfinite(high) else None


def truth_of(expr: Expr, intervals: Mapping[Var, Bounds]) -> bool | None:
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
            return None if difference is None else compare(op, difference, (0, 0))
        case _:
            return None
