"""Outer loops of one iteration give way to those inside, so that all workers have a share."""

from __future__ import annotations

from collections.abc import Iterator

from ragged.errors import ScheduleError
from ragged.ir.expr import Const, Var
from ragged.ir.stmt import For, LoopKind
from ragged.ir.walk import flat
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.unroll_fully import unroll_fully
from ragged.transform.mapping.parallel import parallel


def share_evenly(schedule: LoopSchedule, threads: int) -> None:
    """Leave out outermost parallel loops of one iteration, which one worker would run alone.

    before::

        for b in parallel(1):
            for c in parallel(32):
                y[b, c] = 2.0 * x[b, c]

    after::

        for c in parallel(32):
            y[0, c] = 2.0 * x[0, c]

    The loops directly inside become parallel; a loop with anything else in it stays, and so does what a primitive
    refuses. Comes right before workers share loops.
    """
    if threads < 2:
        return
    done: set[Var] = set()
    while (loop := next((each for each in _single(schedule) if each.var not in done), None)) is not None:
        done.add(loop.var)
        before = schedule.checkpoint()
        try:
            for inner in flat(loop.body):
                if isinstance(inner, For) and not _is_parallel(inner):
                    schedule.apply(parallel, inner.var)
            schedule.apply(unroll_fully, loop.var)
        except ScheduleError:
            schedule.restore(before)


def _single(schedule: LoopSchedule) -> Iterator[For]:
    """Yield the outermost parallel loops of one iteration that have nothing but loops directly inside."""
    for part in flat(schedule.program.kernel):
        if (
            isinstance(part, For)
            and _is_parallel(part)
            and part.extent == Const(1)
            and all(isinstance(inner, For) for inner in flat(part.body))
        ):
            yield part


def _is_parallel(stmt: object) -> bool:
    return isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL
