"""Slices of columns and the iterations of a batch as one loop, where each iteration has rows enough of its own."""

from __future__ import annotations

from collections.abc import Iterator

from ragged.analysis.contractions import contractions
from ragged.ir.expr import Var
from ragged.ir.index import contents
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import sites
from ragged.ir.stmt import For, LoopKind
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fuse import fuse
from ragged.transform.loops.reorder import reorder


def fuse_slices(schedule: LoopSchedule) -> None:
    """Let each iteration of a batch run its slices one after another, and a team share out slices of iterations.

    This is for products of a matrix of parameters with one of an iteration's own, which is read in every slice: a
    worker that runs all slices of an iteration reads it once. What a primitive refuses is left as it is.
    """
    for slices, rows in list(_around_matrices(schedule.program)):
        with schedule.attempt():
            schedule.apply(reorder, (rows, slices))
            schedule.apply(fuse, rows, slices)


def _around_matrices(program: Program) -> Iterator[tuple[Var, Var]]:
    """Yield pairs of loops, over slices and right inside over a batch, around products of two matrices alone.

    Rows of a product are not the iterations of the batch: a matrix that all iterations read is tiled over them.
    """
    packed = [contraction for contraction in contractions(program) if contraction.packed is not None]
    for site in sites(program):
        outer = site.stmt
        if (
            site.stage.kind is not StageKind.KERNEL
            or not isinstance(outer, For)
            or not isinstance(outer.body, For)
        ):
            continue
        if outer.kind is not LoopKind.PARALLEL or outer.body.kind is not LoopKind.PARALLEL:
            continue
        inside = contents(outer).labels
        here = [contraction for contraction in packed if contraction.update in inside]
        if here and all(each.rows is not None and each.rows is not outer.body for each in here):
            yield outer.var, outer.body.var
