"""Fuse adjacent loops over the children of one node: a producer and its consumer."""

from __future__ import annotations

from itertools import pairwise

from ragged.analysis.loop_bodies import loop_of, parts_of
from ragged.auto.interchange_reductions import interchange_reduction, reduction_of
from ragged.auto.transpose_rows import turned_loop
from ragged.errors import ScheduleError
from ragged.ir.expr import Const, Role, Var
from ragged.ir.index import index_of
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import sites
from ragged.ir.stmt import For, LoopKind, Stmt
from ragged.ir.walk import read, written
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.reorder_stmts import reorder_stmts
from ragged.transform.loops.fuse_siblings import fuse_siblings


def fuse_child_loops(schedule: LoopSchedule) -> None:
    """Fuse loops over a node's children, or over another extent that depends on the node, if rows pass between them.

    A gate of each child and the sum over gated children become one loop; `contract_storage`, which comes later, then
    sizes the gate for one child and not for all edges. Reductions of single elements are interchanged for this; the
    order of each sum stays. Loops that a primitive refuses stay as they are, and those that `transpose_rows` will take.
    """
    for loop in _bodies(schedule.program):
        refused: set[Var] = set()
        while (pair := _pair(schedule.program, loop, refused)) is not None:
            first, second = pair
            before = schedule.checkpoint()
            try:
                _fuse(schedule, first, second)
            except ScheduleError:
                schedule.restore(before)
                refused.add(first.var)


def _bodies(program: Program) -> list[Var]:
    """Return the kernel's loops with something over children in them."""
    return [
        site.stmt.var
        for site in sites(program)
        if site.stage.kind is StageKind.KERNEL
        and isinstance(site.stmt, For)
        and any(_over_children(part) is not None for part in parts_of(site.stmt))
    ]


def _pair(program: Program, loop: Var, refused: set[Var]) -> tuple[For, Stmt] | None:
    """Return a loop over children and what stands right after it, goes over as many, and reads what the loop wrote.

    None as well where `loop` was fused into another.
    """
    if loop not in index_of(program).loops:
        return None
    for first, second in pairwise(parts_of(loop_of(program, loop))):
        if not isinstance(first, For) or first.var in refused:
            continue
        one, other = _over_children(first), _over_children(second)
        if one is not first or other is None or one.extent != other.extent or turned_loop(first):
            continue
        if any(buffer.role is Role.WORKSPACE for buffer in written(first) & read(second)):
            return first, second
    return None


def _over_children(part: Stmt) -> For | None:
    """Return the loop over children that a statement is, or has in it as a sum of each element; else None."""
    if not isinstance(part, For) or part.kind is not LoopKind.SERIAL:
        return None
    if not isinstance(part.extent, Const):
        return part
    found = reduction_of(part)
    if found is None or len(found.over) > 1 or isinstance(found.over[0].extent, Const):
        return None
    return found.over[0]


def _fuse(schedule: LoopSchedule, first: For, second: Stmt) -> None:
    assert isinstance(second, For)
    over = second.var
    if (found := reduction_of(second)) is not None:
        start, _ = interchange_reduction(schedule, found)
        over = found.over[0].var
        schedule.apply(reorder_stmts, first.var, start)
    schedule.apply(fuse_siblings, first.var, over)
