"""Memory for calls: aligned arrays, their addresses, and blocks of scratch memory that calls take turns with."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, c_char
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

Array = np.ndarray[Any, Any]

ALIGN = 64
"""A cache line, and the widest vector of today's CPUs."""


def aligned_empty(shape: Sequence[int], dtype: DTypeLike, align: int = ALIGN) -> Array:
    """Return an uninitialised C-contiguous array of `shape` and `dtype` that begins at a multiple of `align` bytes.

    It keeps its memory alive by itself; nobody else refers to it.
    """
    return placed_empty(shape, np.dtype(dtype), align)[0]


def placed_empty(shape: Sequence[int], dtype: np.dtype[Any], align: int = ALIGN) -> tuple[Array, int]:
    """Return what `aligned_empty` does, and its address."""
    raw = np.empty(prod(shape) * dtype.itemsize + align, np.uint8)
    start = raw_address(raw)
    skipped = -start % align
    return np.ndarray(shape, dtype, raw, skipped), start + skipped


def as_aligned(array: Array, align: int = ALIGN) -> Array:
    """Return `array` itself if it is C-contiguous and begins at a multiple of `align` bytes, else a copy that is."""
    if array.flags.c_contiguous and raw_address(array) % align == 0:
        return array
    return aligned_copy(array, align)


def aligned_copy(array: Array, align: int = ALIGN) -> Array:
    """Return a C-contiguous copy of `array` that begins at a multiple of `align` bytes and owns its memory."""
    copy = aligned_empty(array.shape, array.dtype, align)
    copy[...] = array
    return copy


def raw_address(array: Array) -> int:
    """Return where the first element of `array` stands."""
    memory: Any = array
    try:
        return addressof(c_char.from_buffer(memory))  # a quarter of the time of the way below
    except (TypeError, ValueError, BufferError):  # read-only, empty, or not contiguous
        return int(array.ctypes.data)


class Block:
    """Scratch memory of one call at a time: `words` zeroed int64 words in front, then `size` bytes from `address`."""

    __slots__ = ("address", "memory", "pointer", "size", "words")

    def __init__(self, words: int, size: int) -> None:
        head = -(-words * 8 // ALIGN) * ALIGN
        self.memory = aligned_empty((head + size,), np.uint8)
        self.words = self.memory[: words * 8].view(np.int64)
        self.words[...] = 0
        start = raw_address(self.memory)
        self.pointer = start
        self.address = start + head
        self.size = size


class BlockPool:
    """Blocks that calls take and give back, so that a call finds the memory of an earlier one, already mapped.

    Any number of threads may use one pool: as many blocks come to be as calls run at once, each as large as the
    largest call that it has served.
    """

    __slots__ = ("_free", "_words")

    def __init__(self, words: int) -> None:
        self._words = words
        self._free: list[Block] = []

    def take(self, size: int) -> Block:
        """Return a block of at least `size` bytes whose words are zero."""
        try:
            block = self._free.pop()  # atomic, as append is: no lock is needed
        except IndexError:
            return Block(self._words, size)
        return block if block.size >= size else Block(self._words, size)

    def give(self, block: Block) -> None:
        """Take back a block that no call uses any more; its words are zero again, or zeroed here."""
        if block.words[0]:
            block.words[...] = 0
        self._free.append(block)
