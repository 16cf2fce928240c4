"""Rows that are copied for a block of a loop's iterations at a time, and not for all of them."""

from __future__ import annotations

from ragged.auto.replicate_rows import cheap_parts
from ragged.errors import ScheduleError
from ragged.ir.expr import Var
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.locate import loop_site
from ragged.transform.loops.split import Tail, split
from ragged.transform.mapping.serial import serial


def block_rows(schedule: LoopSchedule, loop: Var, rows: int) -> Var:
    """Cut a parallel loop that stands in no other, and makes cheap rows that products read, into blocks of iterations.

    The blocks, of `rows` iterations each, run one after another, so that such rows need room for one block. Returns the
    loop over those of a block, or `loop` where there is nothing to gain. Leaves that each look up an embedding are such
    a loop: a copy of all embeddings may take as much memory as the states.
    """
    if loop_site(schedule.program, loop, "block_rows").loops:
        return loop
    before = schedule.checkpoint()
    try:
        outer, inner = schedule.apply(split, loop, rows, Tail.SHORT).loops[loop]
        schedule.apply(serial, outer)
    except ScheduleError:
        schedule.restore(before)
        return loop
    if not cheap_parts(schedule.program, inner):
        schedule.restore(before)
        return loop
    return inner
