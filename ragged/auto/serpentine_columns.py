"""Slices of columns in turns forwards and backwards, batch after batch."""

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
    """Turn loops over slices of a matrix of parameters around in every second batch.

    A batch reads all slices, and finds those in the second cache that the batch before read last. What `alternate`
    refuses is left as it is.
    """
    tables = {
        product.update: product.packed[0] for product in contractions(schedule.program) if product.packed
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
    """Return the loop over slices of a matrix that a product reads, and the one over batches around it.

    None if there are no such loops: rows that share a slice stand inside of it.
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
    """True for a serial loop whose extent is no number."""
    return loop.kind is LoopKind.SERIAL and not isinstance(loop.extent, Const)
