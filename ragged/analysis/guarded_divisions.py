"""Divisions under conditions in loops, of which LLVM's vectorizer of loops makes wrong code."""

from __future__ import annotations

from collections.abc import Iterator

from ragged.analysis.faults import is_lazy
from ragged.ir.expr import Binary, Const, Expr, Select
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.sites import Branch, Site, evaluated, sites
from ragged.ir.stmt import For, Let, LoopKind, Reduce, Store
from ragged.ir.walk import held, subexpressions

_UNROLLED = 32
"""Iterations of a loop that LLVM may unroll altogether, so that the loop around it is the innermost one."""


def divides_under_condition(program: Program) -> bool:
    """Return whether a loop divides integers by no number where it has branched: in a choice, after `and`, in an `if`.

    Where such a division is the same in all iterations, LLVM's vectorizer makes it only if the condition holds in the
    first lane: in `x[d % n] if d == e else 0.0`, it takes `e % n` for `d % n`. What is divided in any case, as in a
    condition itself or in the extent of a loop, is known there.
    """
    return any(_in_operand(site) or _in_branch(site) for site in sites(program) if site.loops)


def _in_operand(site: Site) -> bool:
    return any(
        _is_division(division) and division not in known
        for expr in held(site.stmt)
        for known in [{part for part, conditions in evaluated(expr) if not conditions}]
        for part in subexpressions(expr)
        if is_lazy(part)
        for operand in _guarded(part)
        for division in subexpressions(operand)
    )


def _guarded(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands of an expression that are not always evaluated."""
    match expr:
        case Select(if_true=if_true, if_false=if_false):
            return if_true, if_false
        case Binary(op=BinaryOp.AND | BinaryOp.OR, rhs=rhs):
            return (rhs,)
        case _:
            return ()


def _in_branch(site: Site) -> bool:
    loops = [place for place, each in enumerate(site.around) if isinstance(each, For) and _stays(each)]
    if not loops or not isinstance(site.stmt, Store | Reduce):
        return False
    inside = site.around[loops[-1] :]
    branches = [place for place, each in enumerate(inside) if isinstance(each, Branch)]
    if not branches:
        return False
    lets = (each.value for each in inside[branches[0] :] if isinstance(each, Let))
    known = {part for each in _evaluated_around(site) for part in subexpressions(each)}
    return any(
        _is_division(part) and part not in known
        for expr in (*held(site.stmt), *lets)
        for part in subexpressions(expr)
    )


def _evaluated_around(site: Site) -> Iterator[Expr]:
    for each in site.around:
        if isinstance(each, Branch):
            yield each.condition
        elif isinstance(each, For):
            yield each.extent


def _stays(loop: For) -> bool:
    """Return whether a loop is one in machine code."""
    short = isinstance(loop.extent, Const) and loop.extent.value <= _UNROLLED
    return loop.kind in (LoopKind.SERIAL, LoopKind.PARALLEL) and not short


def _is_division(expr: Expr) -> bool:
    match expr:
        case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD, rhs=rhs):
            return not isinstance(rhs, Const) and rhs.dtype.is_int
        case _:
            return False
