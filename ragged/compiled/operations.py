"""Operations and cost of statements."""

from __future__ import annotations

from ragged.ir.dtype import DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import Binary, Const, Expr, Fma, Load, Unary
from ragged.ir.ops import BinaryOp
from ragged.ir.stmt import For, Reduce, Stmt, Store
from ragged.ir.walk import children, expressions, reads_memory, subexpressions

_MEMORY = 16
"""The cost of an element that is stored, or read at an index that is data: its memory traffic."""


def float_operations(stmt: Store | Reduce) -> int:
    """Return the operations on floats in a statement's expressions; one on a pair counts twice."""
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
    """Return the operations on floats of a statement, a reduction's own included."""
    return float_operations(stmt) + (isinstance(stmt, Reduce) and stmt.buffer.dtype.is_float)


def cost(stmt: Store | Reduce) -> int:
    """Return the cost of a statement, in operations of a tiled contraction."""
    parts = [part for expr in expressions(stmt) for part in subexpressions(expr)]
    slow = sum(part.op.cost for part in parts if isinstance(part, Unary) and isinstance(part.op, Elementwise))
    moved = sum(isinstance(part, Load) and any(map(reads_memory, part.indices)) for part in parts)
    return flops(stmt) + slow + _MEMORY * (moved + isinstance(stmt, Store))


def operations_per_iteration(stmt: Stmt) -> int:
    """Return about how many operations a naive kernel does if each loop of variable extent runs once: for one node."""
    inner = sum(operations_per_iteration(child) for child in children(stmt))
    match stmt:
        case For(extent=Const(value=extent)):
            return int(extent) * inner
        case Store() | Reduce():
            return 1 + float_operations(stmt)
        case _:
            return inner
