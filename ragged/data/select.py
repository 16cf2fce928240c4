"""Which part of an iteration space indices select: its extents, and where its elements stand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ragged.data import faults
from ragged.data.index import WHOLE, Index
from ragged.data.lengths import OUTERMOST, Lengths, derived_lengths
from ragged.data.parts import Array, Parts, cell_shape, cropped, unpadded
from ragged.data.repack import stored_cells
from ragged.data.space import (
    Coordinates,
    Extent,
    Extents,
    Indices,
    Padding,
    coordinates,
    dense_shape,
    extent_at,
    last_variable,
    storage_positions,
    table_positions,
)


class Selection:
    """What is left of `extents` under an index: an int drops its dimension, a slice keeps it.

    `extents` are those of the result. What an extent depends on may grow: of a slice from the end also on all that the
    sliced extent depends on.
    """

    __slots__ = ("_begin", "_given", "_kept", "_step", "extents")

    def __init__(self, extents: Extents, index: Index) -> None:
        self.extents: Extents = ()
        self._given = extents
        self._kept: dict[int, int] = {}
        self._begin: dict[int, tuple[tuple[int, ...], Any]] = {}
        self._step: dict[int, int] = {}
        for dim, item in enumerate(index):
            self._take(dim, item)

    def origin(self, dims: Iterable[int], at: Coordinates) -> Coordinates:
        """Return the indices along the original dimensions `dims` of the result's indices `at`."""
        found: Coordinates = {}
        for dim in dims:
            over, begin = self._begin[dim]
            first = begin[table_positions(self.extents, over, at)] if over else begin
            found[dim] = first + self._step[dim] * at[self._kept[dim]] if dim in self._kept else first
        return found

    def _take(self, dim: int, item: int | slice) -> None:
        outer = sorted(_depends(self._given, dim))
        over = tuple(self._kept[other] for other in outer if other in self._kept)
        at = self.origin(outer, coordinates(self.extents, over))
        extent = np.asarray(extent_at(self._given, dim, at), np.int64)
        if isinstance(item, int):
            _check_range(dim, item, extent, at)
            self._begin[dim] = over, extent + item if item < 0 else np.full_like(extent, item)
            return
        begin, number, self._step[dim] = _slices(item, extent)
        self._begin[dim] = over, begin
        self._kept[dim] = len(self.extents)
        kept: Extent = derived_lengths(over, number) if over else int(number)
        self.extents = (*self.extents, kept)


def gather(parts: Parts, index: Index) -> Parts:
    """Return a copy of what `index` selects, stored without padding."""
    used = [dim for dim, item in enumerate(index) if item != WHOLE]
    outer = max([last_variable(parts.extents), *used]) + 1
    selection = Selection(parts.extents, index)
    kept = sum(isinstance(item, slice) for item in index[:outer])
    at = selection.origin(range(outer), coordinates(selection.extents, tuple(range(kept))))
    stored = parts.stored
    cells = cropped(stored_cells(parts.values, stored, outer), cell_shape(parts.extents, outer))
    return unpadded(cells[storage_positions(stored, at)].reshape(-1), selection.extents)


def row(parts: Parts, item: int, begins: Indices) -> Parts | Array:
    """Return what index `item` of the outermost dimension selects, sharing memory; `begins` are `starts` of storage."""
    values = parts.values[begins[item] : begins[item + 1]]
    shape: list[int] = []
    for extent in parts.extents[1:]:
        if isinstance(extent, int):
            shape.append(extent)
        elif extent.over == OUTERMOST:
            shape.append(int(extent.values[item]))
        else:
            whole = (WHOLE,) * (len(parts.extents) - 1)
            return Parts(values, Selection(parts.extents, (item, *whole)).extents, parts.padding[1:])
    return _dense(values, tuple(shape), parts.padding[1:])


def rows(parts: Parts, item: slice, begins: Indices) -> Parts:
    """Return what a slice of the outermost dimension with step 1 selects, sharing memory."""
    begin, end, _ = item.indices(dense_shape(parts.extents[:1])[0])  # storage may hold more
    whole = (WHOLE,) * (len(parts.extents) - 1)
    values = parts.values[begins[begin] : begins[max(begin, end)]]
    return Parts(values, Selection(parts.extents, (item, *whole)).extents, (1, *parts.padding[1:]))


def narrowed(parts: Parts) -> Parts | Array:
    """Return `parts`, or their elements as a NumPy array where no extent varies."""
    if any(isinstance(extent, Lengths) for extent in parts.extents):
        return parts
    return _dense(parts.values, dense_shape(parts.extents), parts.padding)


def _dense(values: Array, shape: tuple[int, ...], padding: Padding) -> Array:
    """Return a view of storage as a NumPy array, or a number of no dimensions."""
    if not shape:
        number: Array = values[0]
        return number
    stored = (
        shape if max(padding) == 1 else tuple(-(-n // m) * m for n, m in zip(shape, padding, strict=True))
    )
    return cropped(values.reshape(stored), shape)


def _depends(extents: Extents, dim: int) -> set[int]:
    """Return all dimensions that the extent of `dim` depends on, through others too."""
    extent = extents[dim]
    if not isinstance(extent, Lengths):
        return set()
    return set(extent.over).union(*(_depends(extents, outer) for outer in extent.over))


def _check_range(dim: int, item: int, extent: Array, at: Coordinates) -> None:
    outside = np.atleast_1d((extent <= item) | (extent < -item))
    if outside.any():
        place = int(np.argmax(outside))
        where = tuple(int(np.broadcast_to(along, outside.shape)[place]) for along in at.values())
        raise faults.out_of_range(dim, item, int(np.atleast_1d(extent)[place]), where)


def _slices(item: slice, extent: Array) -> tuple[Array, Array, int]:
    """Return where a slice begins in each extent, how many indices it has, and its step: `slice.indices` of many."""
    step = 1 if item.step is None else int(item.step)
    low, high = (np.zeros_like(extent), extent) if step > 0 else (np.full_like(extent, -1), extent - 1)

    def bound(given: Any, default: Array) -> Array:
        if given is None:
            return default
        return np.clip(int(given) + (extent if given < 0 else 0), low, high)

    begin = bound(item.start, low if step > 0 else high)
    end = bound(item.stop, high if step > 0 else low)
    number = np.maximum(0, -((begin - end) // step) if step > 0 else (begin - end - step - 1) // -step)
    return begin, number, step
