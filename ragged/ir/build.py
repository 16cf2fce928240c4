"""Building index expressions and conditions."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Call, Const, Expr, Function, Ref, Var
from ragged.ir.ops import BinaryOp


def index(value: int | Var | Function | Expr) -> Expr:
    """Return an index expression: an integer literal, a variable's value, a size's value, or `value` itself."""
    match value:
        case int():
            return Const(value)
        case Var():
            return Ref(value)
        case Function():
            return Call(value)
        case _:
            return value


def add(lhs: Expr, rhs: int | Var | Function | Expr) -> Expr:
    """Return `lhs + rhs` over indices."""
    return Binary(BinaryOp.ADD, lhs, index(rhs))


def sub(lhs: Expr, rhs: int | Var | Function | Expr) -> Expr:
    """Return `lhs - rhs` over indices."""
    return Binary(BinaryOp.SUB, lhs, index(rhs))


def both(lhs: Expr | None, rhs: Expr) -> Expr:
    """Return `lhs and rhs`, or `rhs` alone where there is no `lhs`."""
    return rhs if lhs is None else Binary(BinaryOp.AND, lhs, rhs)


def all_of(conditions: Sequence[Expr]) -> Expr:
    """Return that all conditions, at least one, hold, one after another."""
    found = conditions[0]
    for each in conditions[1:]:
        found = both(found, each)
    return found


def within(value: Expr, lo: Expr, hi: Expr) -> Expr:
    """Return `lo <= value and value < hi`."""
    return Binary(BinaryOp.AND, Binary(BinaryOp.LE, lo, value), Binary(BinaryOp.LT, value, hi))


def zero(dtype: DType) -> Expr:
    """Return zero of a type, a pair of zeros, or False."""
    if dtype is DType.BFLOAT16X2:
        half = Const(0.0, DType.FLOAT32)
        return Binary(BinaryOp.PAIR, half, half)
    return Const(False if dtype is DType.BOOL else 0.0 if dtype.is_float else 0, dtype)
