"""Register tiles for the products of the bind stage: tables with a row for each value of an integer."""

from __future__ import annotations

from collections.abc import Iterator

from ragged.analysis.contractions import Contraction, contractions
from ragged.analysis.loop_bodies import loop_of, name_of, parts_of
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.auto.tile_products import partition_rows, tile_sums
from ragged.ir.expr import Const, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import sites
from ragged.ir.stmt import Block, For, Reduce
from ragged.ir.walk import leaves
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fission import fission


def tile_tables(schedule: LoopSchedule, machine: Machine, options: ScheduleOptions = DEFAULT) -> None:
    """Give each sum of products of the bind stage that has rows a register tile, as `tile_products` does.

    Each gets a loop over its rows of its own, and the rows that do not fill a tile another. The parameters that these
    products read are packed before all else. The order of each sum stays; what a primitive refuses is left as it is.
    """
    for loop in _shared(schedule.program):
        with schedule.attempt():
            for part in parts_of(loop_of(schedule.program, loop))[:-1]:
                loop = schedule.apply(fission, loop, name_of(part)).loops[loop][1]
    whole = [contraction.update for contraction in _with_rows(schedule, options.tile_on(machine)[0])]
    tile_sums(schedule, machine, options, whole, StageKind.BIND)


def _shared(program: Program) -> list[Var]:
    """Return the outermost loops of the bind stage in which sums and other statements follow each other."""
    found: list[Var] = []
    for site in sites(program):
        loop = site.stmt
        outermost = site.stage.kind is StageKind.BIND and isinstance(loop, For) and not site.loops
        if outermost and isinstance(loop, For) and isinstance(loop.body, Block) and _has_nests(loop):
            found.append(loop.var)
    return found


def _has_nests(loop: For) -> bool:
    """True if what stands directly in a loop are loops, one of them around a sum."""
    parts = parts_of(loop)
    sums = any(isinstance(leaf, Reduce) for leaf in leaves(loop))
    return sums and all(isinstance(part, For) for part in parts)


def _with_rows(schedule: LoopSchedule, together: int) -> Iterator[Contraction]:
    """Yield the products of the bind stage that have tiles of rows, what is left over of these being cut off."""
    for contraction in list(contractions(schedule.program, StageKind.BIND)):
        rows = contraction.rows
        if contraction.vector is None or rows is None or not isinstance(rows.extent, Const):
            continue
        if rows is contraction.vector or int(rows.extent.value) < together:
            continue
        with schedule.attempt():
            partition_rows(schedule, rows.var, together)
        yield contraction
