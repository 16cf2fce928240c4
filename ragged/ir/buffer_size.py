"""The size of a buffer, and of a stage's stack frame: its local buffers, all at once."""

from __future__ import annotations

from math import prod

from ragged.ir.expr import Buffer, Const
from ragged.ir.index import contents
from ragged.ir.stmt import Stmt

MAX_FRAME_BYTES = 256 * 1024
"""The most bytes that a stage's local buffers may take together; a thread has 8 MiB, or less where the host says so."""


def constant_shape(buffer: Buffer) -> tuple[int, ...] | None:
    """Return the extents of a buffer, or None if they are not all constant."""
    extents = tuple(int(extent.value) for extent in buffer.shape if isinstance(extent, Const))
    return extents if len(extents) == len(buffer.shape) else None


def bytes_of(buffer: Buffer) -> int:
    """Return the bytes of a buffer; extents that are not constant count as one."""
    extents = (int(extent.value) for extent in buffer.shape if isinstance(extent, Const))
    return prod(extents) * buffer.dtype.bytes


def frame_bytes(body: Stmt) -> int:
    """Return the bytes of the local buffers in `body`."""
    return sum(map(bytes_of, contents(body).buffers))
