"""The functions that a program calls, and the facts about them that it needs."""

from __future__ import annotations

from collections.abc import Iterable

from ragged.ir.expr import Buffer, Call, Expr, Function
from ragged.ir.fact import Fact
from ragged.ir.stmt import Stmt
from ragged.ir.walk import all_expressions, subexpressions


def used_functions(
    all_functions: Iterable[Function], facts: Iterable[Fact], kernel: Stmt, buffers: Iterable[Buffer]
) -> set[Function]:
    """Return the functions that a program calls directly, in shapes, or through facts about others."""
    shapes = (subexpressions(extent) for buffer in buffers for extent in buffer.shape)
    roots = (*all_expressions(kernel), *(expr for shape in shapes for expr in shape))
    used: set[Function] = set()
    pending = [expr.function for expr in roots if isinstance(expr, Call)]
    while pending:
        function = pending.pop()
        if function in used:
            continue
        used.add(function)
        inside = [param.extent for param in function.params] + (
            [] if function.body is None else [function.body]
        )
        pending += _called(inside)
        for fact in facts:
            if fact.required <= used:
                pending += (*fact.functions, *_called(fact.exprs))
    return used & set(all_functions)


def _called(exprs: Iterable[Expr]) -> list[Function]:
    return [e.function for expr in exprs for e in subexpressions(expr) if isinstance(e, Call)]
