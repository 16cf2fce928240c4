"""Loops over rows of any length: equal shares of workers, and vectors."""

from __future__ import annotations

from contextlib import suppress

from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor
from ragged.api.values import Value, lift
from ragged.errors import ScheduleError
from ragged.transform.loops.split import Tail


def known_extent(extent: Value | int) -> int | None:
    """Return an extent that is a number, None of one that is known at the call only."""
    text = lift(extent).text()
    return int(text) if text.isdecimal() else None


def fuse_rows(s: RaggedSchedule, *tensors: RaggedTensor) -> None:
    """Fuse the loops over the batch and over the rows of each tensor, so that workers have equal numbers of rows.

    The loops stay as they are where `fuse_loops` refuses: something else is computed between them.
    """
    for tensor in tensors:
        with suppress(ScheduleError):
            s.fuse_loops(tensor.loops[0], tensor.loops[1])


def fuse_vectors(s: RaggedSchedule, tensor: RaggedTensor, *, flat: bool, lanes: int) -> None:
    """Schedule the loops of an elementwise operator for equal shares of workers and full vectors, of so many `lanes`.

    The last dimension may vary. With `flat` all operands have the layout of the result: then one loop runs over the
    elements of all rows.
    """
    if known_extent(tensor.dims[-1].extent) is not None:
        if len(tensor.dims) > 2:
            fuse_rows(s, tensor)
    elif flat and len(tensor.dims) == 2:
        fused = s.fuse_loops(tensor.loops[0], tensor.loops[1])
        s.vectorize(s.split_loop(fused, lanes, Tail.PEEL)[1])
    elif len(tensor.dims) > 2:
        fuse_rows(s, tensor)
