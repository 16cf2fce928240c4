"""Loops that read one array up to an element and another one from there on, as concatenations: a loop for each."""

from __future__ import annotations

from ragged.analysis.site_of import site_of
from ragged.arith.thresholds import threshold
from ragged.auto.interchange_reductions import is_side_by_side
from ragged.ir.expr import Const, Expr, Select
from ragged.ir.program import StageKind
from ragged.ir.sites import sites
from ragged.ir.stmt import For, LoopKind, Store
from ragged.ir.walk import loads, reads_memory, subexpressions
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.simplify_guards import simplify_guards
from ragged.transform.loops.dispatch import dispatch
from ragged.transform.loops.partition_loop import partition_loop

_MOST_PARTS = 4
"""The most loops that one becomes: each has code of its own."""


def partition_choices(schedule: LoopSchedule, machine: Machine) -> None:
    """Cut loops over consecutive elements where a condition begins or ceases to hold that chooses what is read.

    before::

        for d in parallel(D + E):
            y[d] = x[d] if d < D else z[d - D]

    after::

        for d in parallel(D):
            y[d] = x[d]
        for d_rest in parallel(D + E - D):
            y[D + d_rest] = z[D + d_rest - D]

    Each loop fills vectors then; fewer iterations than a vector has lanes stay in one loop. Choices of which one value
    reads nothing of its own are left: lanes are masked there. Comes before workers share loops.
    """
    for site in list(sites(schedule.program)):
        loop = site.stmt
        if site.stage.kind is StageKind.KERNEL and isinstance(loop, For) and _end_of_choice(loop) is not None:
            _partition(schedule, loop, machine.lanes(4))


def _partition(schedule: LoopSchedule, loop: For, lanes: int) -> None:
    whole = loop.var
    if not isinstance(loop.extent, Const):
        with schedule.attempt():
            whole = schedule.apply(dispatch, whole, (lanes,)).loops[whole][0]
    elif loop.extent.value < lanes:
        return
    parts, count = [whole], 1
    while parts and count < _MOST_PARTS:
        part = parts.pop()
        found = site_of(schedule.program, part)
        place = _end_of_choice(found.stmt) if found is not None and isinstance(found.stmt, For) else None
        if place is not None:
            with schedule.attempt():
                cut = schedule.apply(partition_loop, part, place).loops[part]
                for each in cut:
                    schedule.apply(simplify_guards, each)
                parts += cut
                count += 1


def _end_of_choice(loop: For) -> Expr | None:
    """Return the iteration from which on a choice in an innermost loop is another; None if it makes none."""
    store = loop.body
    if loop.kind not in (LoopKind.SERIAL, LoopKind.PARALLEL) or not isinstance(store, Store):
        return None
    if not is_side_by_side(store, loop.var):
        return None
    for part in subexpressions(store.value):
        if isinstance(part, Select) and _is_of_two(part):
            found = threshold(part.condition, loop.var)
            if found is not None and not reads_memory(found[0]):
                return found[0]
    return None


def _is_of_two(choice: Select) -> bool:
    """Return whether each of two values reads what the other one does not."""
    one, other = (set(loads(value)) for value in (choice.if_true, choice.if_false))
    return bool(one - other) and bool(other - one)
