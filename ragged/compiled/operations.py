"""How many operations statements do."""

from __future__ import annotations

from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Expr, Fma, Unary
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.stmt import Reduce, Store
from ragged.ir.walk import expressions, subexpressions

_SLOW = {UnaryOp.EXP: 32, UnaryOp.LOG: 32, UnaryOp.TANH: 32, UnaryOp.SIGMOID: 32, UnaryOp.SQRT: 8}
"""What takes as long as so many operations of a tiled product."""
_MEMORY = 16
"""The same for an element that is stored: it goes to memory, and what it is made of came from there."""


def float_operations(stmt: Store | Reduce) -> int:
    """Return how many operations on floats a statement has in its expressions: of pairs, those on each half."""
    parts = (part for expr in expressions(stmt) for part in subexpressions(expr))
    return sum(_operations(part) for part in parts)


def _operations(part: Expr) -> int:
    match part:
        case Binary(op=BinaryOp.DOT):
            return 3  # two products and their sum
        case Fma(a=a) if a.dtype is DType.BFLOAT16X2:
            return 2
        case Binary() | Unary() | Fma():
            return int(part.dtype.is_float)
        case _:
            return 0


def flops(stmt: Store | Reduce) -> int:
    """Return how many operations on floats a statement does: a reduction combines as well."""
    return float_operations(stmt) + (isinstance(stmt, Reduce) and stmt.buffer.dtype.is_float)


def cost(stmt: Store | Reduce) -> int:
    """Return how long a statement takes, in operations of a tiled product."""
    parts = (part for expr in expressions(stmt) for part in subexpressions(expr))
    slow = sum(_SLOW.get(part.op, 0) for part in parts if isinstance(part, Unary))
    return flops(stmt) + slow + _MEMORY * isinstance(stmt, Store)
