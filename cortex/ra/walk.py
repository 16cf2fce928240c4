"""Traversal of expressions."""

from __future__ import annotations

from collections.abc import Iterator

from cortex.ra.expr import Expr, operands


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """Yield `expr` and all its subexpressions, outermost first."""
    yield expr
    for operand in operands(expr):
        yield from subexpressions(operand)
