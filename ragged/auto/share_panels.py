"""Panels of packed operands of a batch as the iterations of one loop, which workers share."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.analysis.loop_bodies import name_of
from ragged.auto.planned_panels import PlannedPanels, blocks_of
from ragged.errors import ScheduleError
from ragged.ir.expr import Var
from ragged.ir.sites import sites
from ragged.ir.stmt import For, LoopKind
from ragged.ir.walk import flat
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.reorder_stmts import reorder_stmts
from ragged.transform.loops.fuse import fuse
from ragged.transform.loops.fuse_siblings import fuse_siblings
from ragged.transform.mapping.parallel import parallel
from ragged.transform.mapping.serial import serial
from ragged.transform.mapping.share_nest import share_nest


def share_panels(
    schedule: LoopSchedule, fill: Sequence[Var], nest: Sequence[Var], rows: Sequence[Var] = ()
) -> None:
    """Share the panels of all operands of a batch between workers, each of which fills a panel before it reads it.

    before::

        for p in parallel(B):
            for q in serial(panels): fill w_packed[p, q]
        for b in parallel(B):
            for j in serial(panels): read w_packed[b, j]

    after::

        for e in parallel(B * panels):
            b, j = e // panels, e % panels
            fill w_packed[b, j]
            read w_packed[b, j]

    `nest` are the loops over the batch and over panels that read, `fill` those that fill, if the operand is an input;
    both outermost first. Other nests may stand between them. Loops over `rows` directly inside are shared too. What a
    primitive refuses is left.
    """
    for loop in (*nest[:-1], *rows):
        with schedule.attempt():
            schedule.apply(parallel, loop)
    schedule.apply(parallel, nest[-1])
    _one_parallel_loop(schedule, (*_fuse_fill(schedule, fill, nest), *rows))


def share_blocks(schedule: LoopSchedule, panels: Sequence[PlannedPanels]) -> None:
    """Share the blocks of rows of all panels, where workers share the panels: these may be few.

    before::

        for p_s in serial((w + 1) * panels // workers - first):
            fill w_packed[w]
            for b in parallel(blocks): read w_packed[w]

    after::

        for p_s_b in serial((w + 1) * (panels * blocks) // workers - first):
            fill w_packed[w], if the panel is another
            read w_packed[w]

    Where a primitive refuses it, the loop over blocks is serial. Comes last: other rules look for panels that each
    iteration fills.
    """
    blocks = blocks_of(panels)
    for site in list(sites(schedule.program)):
        loop = site.stmt
        if isinstance(loop, For) and loop.var in blocks and loop.kind is LoopKind.PARALLEL:
            before = schedule.checkpoint()
            try:
                schedule.apply(share_nest, site.loops[-1].var, loop.var)
            except ScheduleError:
                schedule.restore(before)
                schedule.apply(serial, loop.var)


def _fuse_fill(schedule: LoopSchedule, fill: Sequence[Var], nest: Sequence[Var]) -> tuple[Var, ...]:
    """Fuse the loops that fill panels with the loops that read them, and return these.

    There is no barrier between them, and a panel stays in cache.
    """
    fused = list(nest)
    for place, (filled, read) in enumerate(zip(fill, nest, strict=False)):
        before = schedule.checkpoint()
        try:
            if place == 0:
                _put_before(schedule, filled, read)
            schedule.apply(parallel, filled)
            (fused[place],) = schedule.apply(fuse_siblings, filled, read).loops[read]
        except ScheduleError:
            schedule.restore(before)
            break
    return tuple(fused)


def _put_before(schedule: LoopSchedule, fill: Var, read: Var) -> None:
    """Put an outermost loop right before another one, if other statements stand between them."""
    parts = list(flat(schedule.program.kernel))
    names = [part.var if isinstance(part, For) else None for part in parts]
    if {fill, read} <= set(names) and names.index(fill) < names.index(read) - 1:
        schedule.apply(reorder_stmts, fill, name_of(parts[names.index(read) - 1]))


def _one_parallel_loop(schedule: LoopSchedule, nest: Sequence[Var]) -> None:
    """Fuse loops as far as they stand alone in each other: workers share all of their iterations."""
    *others, fused = nest
    for outer in reversed(others):
        before = schedule.checkpoint()
        try:
            fused = schedule.apply(fuse, outer, fused).loops[fused][0]
        except ScheduleError:
            schedule.restore(before)
            return
