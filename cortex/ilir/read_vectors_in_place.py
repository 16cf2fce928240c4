"""Read what nodes carry where their callers have it."""

from __future__ import annotations

from cortex.ilir.index_arrays import in_place_names
from cortex.ilir.structure import NODE
from ragged.errors import ScheduleError
from ragged.ir.expr import Role
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.storage.read_in_place import read_in_place


def read_vectors_in_place(program: Program) -> Rewritten:
    """Return the program with vectors of nodes read from one stretch of memory for each, wherever that is.

    before::

        x: payload(float32[num_nodes, 256])

    after::

        size_of_x: input()
        begin_of_x: input(n < num_nodes, storage=int64) = facts(0 <= begin_of_x(n) < size_of_x - 255)
        x: payload(float32[size_of_x], align=4)

    A call has them where the caller's nodes have theirs, and copies none. Comes after all that asks how rows follow one
    another. Its notes are its steps, and why a payload is left as it is.
    """
    schedule = LoopSchedule(program, trusted=True)
    whole: list[str] = []
    for buffer in program.buffers:
        rows = buffer.role is Role.PAYLOAD and len(buffer.shape) > 1 and buffer.dims[0] is NODE
        if rows and buffer.dtype.is_float:  # integers are checked as they are read, and copied
            try:
                schedule.apply(read_in_place, buffer, *in_place_names(buffer.name))
            except ScheduleError as refusal:
                whole.append(f"# {buffer.name} has a row for each node: {' '.join(str(refusal).split())}")
    return Rewritten(schedule.checked(), schedule.forwarding, (*schedule.log().splitlines(), *whole))
