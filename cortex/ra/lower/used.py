"""The functions that a program calls, and the facts about them that it needs."""

from __future__ import annotations

from collections.abc import Iterable

from ragged.ir.checks.declarations import bounds_of_fact, functions_of_fact
from ragged.ir.expr import Buffer, Call, Expr, Function
from ragged.ir.facts import (
    Descends,
    Fact,
    Follows,
    Injective,
    Layered,
    Monotone,
    Owner,
    PrefixSum,
    Range,
    Tiling,
    Uniform,
)
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
            if subjects(fact) <= used:
                pending += (*functions_of_fact(fact), *_called(bounds_of_fact(fact)))
    return used & set(all_functions)


def _called(exprs: Iterable[Expr]) -> list[Function]:
    return [e.function for expr in exprs for e in subexpressions(expr) if isinstance(e, Call)]


def subjects(fact: Fact) -> set[Function]:
    """Return the functions that a program must call for a fact to be relevant."""
    match fact:
        case Range(function=function) | Monotone(function=function) | Injective(function=function):
            return {function}
        case PrefixSum(offset=offset, length=length):
            return {offset, length}
        case Owner(owner=owner, offset=offset):
            return {owner, offset}
        case Tiling(begin=begin, length=length):
            return {begin, length}
        case Follows(pointer=pointer, begin=begin, length=length, via=via):
            return {pointer, begin, length} | ({via} if via else set())
        case Uniform(begin=begin, length=length):
            return {begin, length}  # who runs over a range of nodes relies on what they have in common
        case Layered(top=top):
            return {top}
        case Descends(pointer=pointer, height=height):
            return {pointer, height}
