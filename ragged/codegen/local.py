"""Local buffers: what generated code holds for a while."""

from __future__ import annotations

from math import prod

from ragged.errors import ScheduleError
from ragged.ir.buffer_size import constant_shape
from ragged.ir.expr import Buffer


def elements_of(buffer: Buffer) -> int:
    """Return how many elements a local buffer has.

    Raises:
        ScheduleError: its extents are not all numbers.
    """
    shape = constant_shape(buffer)
    if shape is None:
        raise ScheduleError(
            f"local buffer '{buffer.name}' has no constant size",
            fix="a workspace that the program declares",
        )
    return prod(shape)
