"""Which expressions must not be evaluated where the program does not evaluate them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ragged.ir.expr import Binary, Call, Expr, Load, Select
from ragged.ir.ops import BinaryOp
from ragged.ir.walk import subexpressions


def may_fault(expr: Expr, certain: AbstractSet[Load] = frozenset()) -> bool:
    """Return whether evaluating `expr` could do harm out of its place: it reads memory, not only `certain` elements."""
    return any(_may_fault(part) and part not in certain for part in subexpressions(expr))


def is_lazy(expr: Expr, certain: AbstractSet[Load] = frozenset()) -> bool:
    """Return whether `expr` has to branch: its first operand decides if another one, that may fault, is evaluated.

    What is `certain` may be read in any case.
    """
    match expr:
        case Select(if_true=if_true, if_false=if_false):
            return may_fault(if_true, certain) or may_fault(if_false, certain)
        case Binary(op=BinaryOp.AND | BinaryOp.OR, rhs=rhs):
            return may_fault(rhs, certain)
        case Call(function=function) if function.body is not None:
            return any(is_lazy(part) for part in subexpressions(function.body))
        case _:
            return False


def _may_fault(expr: Expr) -> bool:
    match expr:
        case Load():
            return True
        case Call(function=function):
            return function.is_array or (function.body is not None and may_fault(function.body))
        case _:
            return False
