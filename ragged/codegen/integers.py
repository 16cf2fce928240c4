"""Integer arithmetic in TIR, simplified where an operand is a literal."""

from __future__ import annotations

from collections.abc import Iterable

from ragged.codegen.load_tvm import tirx
from ragged.codegen.ops import TirExpr, literal
from ragged.ir.dtype import INDEX


def row_major(indices: Iterable[tuple[TirExpr, TirExpr]]) -> TirExpr:
    """Return the offset of an element given (index, extent) of each dimension, outermost first."""
    offset: TirExpr = literal(0, INDEX)
    for index, extent in indices:
        offset = add(mul(offset, extent), index)
    return offset


def product(extents: Iterable[TirExpr]) -> TirExpr:
    """Return the product of `extents`, 1 of none."""
    result: TirExpr = literal(1, INDEX)
    for extent in extents:
        result = mul(result, extent)
    return result


def add(a: TirExpr, b: TirExpr) -> TirExpr:
    """Return `a + b` of integers, simplified where one is zero or both are literals."""
    match number(a), number(b):
        case (0, _):
            return b
        case (_, 0):
            return a
        case (int() as x, int() as y):
            return tirx.IntImm(a.ty, x + y)
        case _:
            return tirx.Add(a, b)


def mul(a: TirExpr, b: TirExpr) -> TirExpr:
    """Return `a * b` of integers, simplified where one is zero or one or both are literals."""
    match number(a), number(b):
        case (0, _) | (_, 1):
            return a
        case (1, _) | (_, 0):
            return b
        case (int() as x, int() as y):
            return tirx.IntImm(a.ty, x * y)
        case _:
            return tirx.Mul(a, b)


def number(value: TirExpr) -> int | None:
    """Return the value of a literal; None of another expression."""
    return int(value.value) if type(value) is tirx.IntImm else None
