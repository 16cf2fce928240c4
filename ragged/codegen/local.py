"""Local buffers: what generated code holds for a while."""

from __future__ import annotations

from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Const


def elements_of(buffer: Buffer) -> int:
    """Return how many elements a local buffer has.

    Raises:
        ScheduleError: its extents are not all numbers.
    """
    count = 1
    for extent in buffer.shape:
        if not isinstance(extent, Const):
            raise ScheduleError(
                f"local buffer '{buffer.name}' has no constant size",
                fix="a workspace that the program declares",
            )
        count *= int(extent.value)
    return count
