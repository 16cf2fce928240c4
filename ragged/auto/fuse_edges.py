"""Products over children: one loop over all edges of a batch in place of rows of different lengths."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ragged.analysis.contractions import packed_contractions
from ragged.analysis.loop_bodies import loop_of, name_of, parts_of
from ragged.errors import ScheduleError
from ragged.ir.expr import Const, Var
from ragged.ir.stmt import For, Label, Stmt
from ragged.ir.walk import leaves
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fission import fission
from ragged.transform.loops.fuse_ragged import fuse_ragged
from ragged.transform.mapping.parallel import parallel


def fuse_edges(schedule: LoopSchedule, loop: Var) -> Iterator[Var]:
    """Give each product over children a loop of its own over all edges; yield it, and the loops that are left."""
    current = loop
    while True:
        updates = packed_contractions(schedule.program)
        parts = parts_of(loop_of(schedule.program, current))
        at = next((i for i, part in enumerate(parts) if _is_ragged_product(part, updates)), None)
        if at is None:
            yield current
            return
        before = schedule.checkpoint()
        try:
            ragged, rest, earlier = current, None, None
            if at:
                earlier, ragged = schedule.apply(fission, current, name_of(parts[at - 1])).loops[current]
            if at + 1 < len(parts):
                ragged, rest = schedule.apply(fission, ragged, name_of(parts[at])).loops[ragged]
            inner = parts[at]
            assert isinstance(inner, For)
            (fused,) = schedule.apply(fuse_ragged, ragged, inner.var).loops[ragged]
            schedule.apply(parallel, fused)
        except ScheduleError:
            schedule.restore(before)
            yield current
            return
        if earlier is not None:
            yield earlier
        yield fused
        if rest is None:
            return
        current = rest


def _is_ragged_product(part: Stmt, updates: Collection[Label]) -> bool:
    return (
        isinstance(part, For)
        and not isinstance(part.extent, Const)
        and any(leaf.label in updates for leaf in leaves(part))
    )
