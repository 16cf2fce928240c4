"""Expressions that are put somewhere: what they name has to be there, and they need a value."""

from __future__ import annotations

from collections.abc import Iterator

from ragged.analysis.obligations import obligations
from ragged.errors import ScheduleError
from ragged.ir.dtype import INDEX
from ragged.ir.expr import Call, Expr, Load, Ref, Role
from ragged.ir.fact import Fact
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import Site
from ragged.ir.stmt import Alloc, For, Let
from ragged.ir.walk import subexpressions
from ragged.prove import Unproven, answer

_BOUND = (Role.PARAMETER, Role.BOUND)


def require_index(program: Program, site: Site, expr: Expr, known: Expr, what: str) -> frozenset[Fact]:
    """Return the facts by which `expr` is an index with a value where `site` stands; `known` is evaluated there.

    Raises:
        ScheduleError: it is no index, names what is not there, or is not proven to look up only what there is and to
            divide by no zero; `what` is the refusal.
    """
    text = expr_text(expr)
    if expr.dtype is not INDEX:
        raise ScheduleError(what, because=f"{text} is {expr.dtype.value}, and no index")
    for name in _unknown(program, site, expr):
        raise ScheduleError(what, because=f"{text} names '{name}', which is not known there")
    needed = {each.condition for each in obligations(known)}
    facts: frozenset[Fact] = frozenset()
    for each in obligations(expr):
        goal = each.condition
        if goal in needed:
            continue
        found = answer(program, site, goal)
        if isinstance(found, Unproven):
            raise ScheduleError(
                what,
                because=f"{text} has no value unless {expr_text(goal)}, which is not proven",
                example=found.example,
            )
        facts |= found.facts
    return facts


def _unknown(program: Program, site: Site, expr: Expr) -> Iterator[str]:
    """Yield the names of what `expr` uses and what is not known at `site`; what a call gives is not when binding."""
    binding = site.stage.kind is StageKind.BIND
    variables = {outer.var for outer in site.around if isinstance(outer, For | Let)}
    buffers = {outer.buffer for outer in site.around if isinstance(outer, Alloc)}
    buffers |= {buffer for buffer in program.buffers if not binding or buffer.role in _BOUND}
    for part in subexpressions(expr):
        match part:
            case Ref(var=var) if var not in variables:
                yield var.name
            case Call(function=function) if binding or function not in program.functions:
                yield function.name
            case Load(buffer=buffer) if buffer not in buffers:
                yield buffer.name
            case _:
                pass
