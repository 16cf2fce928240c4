"""Serpentine order of column slices: every second batch visits them backwards."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ragged.analysis.contractions import contractions
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Const, Load, Var
from ragged.ir.program import StageKind
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import For, LoopKind, Reduce
from ragged.ir.walk import mentions, subexpressions
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.serpentine_order import serpentine_order


def serpentine_columns(schedule: LoopSchedule) -> None:
    """Run loops over slices of a parameter matrix backwards in every second batch.

    A batch reads all slices; those that the previous batch read last are still in the L2 cache. A loop that
    `serpentine_order` refuses is left as it is.
    """
    tables = {
        contraction.update: contraction.packed[0]
        for contraction in contractions(schedule.program)
        if contraction.packed
    }
    found: dict[Var, Var] = {}
    for site in sites(schedule.program):
        if site.stage.kind is StageKind.KERNEL and isinstance(site.stmt, Reduce):
            table = tables.get(site.stmt.label)
            loops = None if table is None else _slices(site, site.stmt, table)
            if loops is not None:
                found.setdefault(*loops)
    for loop, around in found.items():
        with suppress(ScheduleError):
            schedule.apply(serpentine_order, loop, around)


def _slices(site: Site, update: Reduce, table: Buffer) -> tuple[Var, Var] | None:
    """Return the loop over slices of a matrix that a contraction reads, and the loop over batches around it.

    None unless there are such loops, with one over rows that share a slice inside.
    """
    parts = subexpressions(site.expand(update.value))
    reads = [part for part in parts if isinstance(part, Load) and part.buffer is table]
    slices = next((i for i, loop in enumerate(site.loops) if _is_read_by(reads, loop)), None)
    if slices is None:
        return None
    around = [loop for loop in site.loops[:slices] if _is_counted(loop)]
    rows = any(_is_counted(loop) and not _is_read_by(reads, loop) for loop in site.loops[slices + 1 :])
    return (site.loops[slices].var, around[-1].var) if around and rows else None


def _is_read_by(reads: Sequence[Load], loop: For) -> bool:
    return loop.kind is LoopKind.SERIAL and any(mentions(read, (loop.var,)) for read in reads)


def _is_counted(loop: For) -> bool:
    """Return whether a loop is serial and its extent is not constant."""
    return loop.kind is LoopKind.SERIAL and not isinstance(loop.extent, Const)
