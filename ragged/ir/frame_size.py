"""The size of a stage's stack frame: its local buffers, all at once."""

from __future__ import annotations

from math import prod

from ragged.ir.expr import Const, Role
from ragged.ir.stmt import Alloc, Stmt
from ragged.ir.walk import statements

MAX_FRAME_BYTES = 256 * 1024
"""The most bytes that a stage's local buffers may take together; a thread has 8 MiB, or less where the host says so."""


def frame_bytes(body: Stmt) -> int:
    """Return the bytes of the local buffers in `body` with constant extents."""
    return sum(
        prod(int(extent.value) for extent in extents) * inner.buffer.dtype.bytes
        for inner in statements(body)
        if isinstance(inner, Alloc) and inner.buffer.role is Role.LOCAL
        if len(extents := [each for each in inner.buffer.shape if isinstance(each, Const)])
        == len(inner.buffer.shape)
    )
