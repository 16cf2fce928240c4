"""Reductions that no rule gave lanes or a tile, for readers of `explain()`."""

from __future__ import annotations

from ragged.errors import ScheduleError
from ragged.ir.expr import Const
from ragged.ir.program import StageKind
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import LoopKind, Reduce
from ragged.schedule.loop_schedule import LoopSchedule

_IN_LANES = (LoopKind.VECTORIZED, LoopKind.TENSORIZED)
_FEW = 16
"""Reductions of fewer elements are not worth a line."""


def note_scalar_reductions(schedule: LoopSchedule) -> None:
    """Record the reductions of the kernel that run element by element, with their loops; nothing is changed."""
    for site in sites(schedule.program):
        stmt = site.stmt
        if isinstance(stmt, Reduce) and site.stage.kind is StageKind.KERNEL and _is_scalar(site, stmt):
            axes = [loop.var.name for loop in site.loops if loop.var in stmt.axes]
            refusal = ScheduleError(f"no rule takes it: it runs element by element over {', '.join(axes)}")
            schedule.refuse(f"lanes for '{stmt.label.name}'", refusal)


def _is_scalar(site: Site, reduce: Reduce) -> bool:
    if any(loop.kind in _IN_LANES for loop in site.loops):
        return False
    extents = [loop.extent for loop in site.loops if loop.var in reduce.axes]
    return not all(isinstance(each, Const) and each.value < _FEW for each in extents)
