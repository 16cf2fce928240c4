"""Iteration spaces of dimensions with extents that depend on outer ones, counted and enumerated in NumPy.

Nothing here sees an element of an array. `extents` is one extent for each dimension: an int, or `Lengths`.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.data.lengths import Lengths, checked_lengths, trusted_lengths

Extent = int | Lengths
Extents = tuple[Extent, ...]
Padding = tuple[int, ...]
Indices = npt.NDArray[np.int64]
Coordinates = dict[int, Indices]
"""For each of some dimensions the index along it, of each element of an enumeration."""


def needed(extents: Extents) -> set[int]:
    """Return the dimensions that the extent of another one depends on."""
    return {dim for extent in extents if isinstance(extent, Lengths) for dim in extent.over}


def last_variable(extents: Extents) -> int:
    """Return the innermost variable dimension, 0 if there is none."""
    return max((dim for dim, extent in enumerate(extents) if isinstance(extent, Lengths)), default=0)


def largest(extent: Extent) -> int:
    """Return the largest extent that there is."""
    return extent.largest if isinstance(extent, Lengths) else extent


def dense_shape(extents: Extents) -> tuple[int, ...]:
    """Return the shape of the smallest dense array that everything fits in."""
    return tuple(largest(extent) for extent in extents)


def is_rectangular(extents: Extents) -> bool:
    """Return whether no extent varies."""
    return all(isinstance(extent, int) or extent.is_constant for extent in extents)


def stored_extents(extents: Extents, padding: Padding) -> Extents:
    """Return what storage holds of each dimension: its extent, rounded up to a multiple of its padding.

    Padding of a dimension that another one's extent depends on stores nothing: there the inner extent is 0.
    """
    if max(padding) == 1:
        return extents
    kept = needed(extents)
    return tuple(
        extent if dim in kept or multiple == 1 else _rounded(extent, multiple)
        for dim, (extent, multiple) in enumerate(zip(extents, padding, strict=True))
    )


def _rounded(extent: Extent, multiple: int) -> Extent:
    if isinstance(extent, int):
        return -(-extent // multiple) * multiple
    rounded = -(-extent.values.astype(np.int64) // multiple) * multiple
    return trusted_lengths(extent.over, checked_lengths(rounded)[0])


def count(extents: Extents, dims: tuple[int, ...]) -> int:
    """Return the number of indices of `dims`: of a row-major table over them."""
    for place in reversed(range(len(dims))):
        if _varies(extents[dims[place]], dims):
            inner = prod(largest(extents[dim]) for dim in dims[place + 1 :])
            return int(extents_over(extents, dims[place], dims[:place]).sum(dtype=np.int64)) * inner
    return prod(largest(extents[dim]) for dim in dims)


def extents_over(extents: Extents, dim: int, outer: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return the extent of `dim` for each index of the dimensions `outer`, in row-major order.

    What depends on more than `outer` counts with its largest extent.
    """
    extent = extents[dim]
    if not _varies(extent, outer):
        return np.full(count(extents, outer), largest(extent), np.int64)
    assert isinstance(extent, Lengths)
    if extent.over == outer:
        return extent.values
    return extent.values[table_positions(extents, extent.over, coordinates(extents, outer))]


def offsets_over(extents: Extents, dim: int, outer: tuple[int, ...]) -> Indices:
    """Return the exclusive prefix sums of `extents_over`, the total behind them: int64, one element more."""
    extent = extents_over(extents, dim, outer)
    offsets = np.zeros(extent.size + 1, np.int64)
    np.cumsum(extent, out=offsets[1:])
    return offsets


def coordinates(extents: Extents, dims: tuple[int, ...]) -> Coordinates:
    """Enumerate the indices of `dims` in row-major order: for each dimension an array (count(extents, dims),)."""
    found: Coordinates = {}
    for place, dim in enumerate(dims):
        offsets = offsets_over(extents, dim, dims[:place])
        repeats = np.diff(offsets)
        found = {outer: np.repeat(along, repeats) for outer, along in found.items()}
        found[dim] = np.arange(offsets[-1]) - np.repeat(offsets[:-1], repeats)
    return found


def table_positions(extents: Extents, over: tuple[int, ...], at: Coordinates) -> Indices:
    """Return where a row-major table over the dimensions `over` holds the entries of the indices `at`."""
    position: Any = np.int64(0)
    for place, dim in enumerate(over):
        extent = extents[dim]
        if _varies(extent, over):
            position = offsets_over(extents, dim, over[:place])[position] + at[dim]
        else:
            position = position * largest(extent) + at[dim]
    return np.asarray(position)


def extent_at(extents: Extents, dim: int, at: Coordinates) -> Any:
    """Return the extent of `dim` at the indices `at` of outer dimensions: an int, or an array of them."""
    extent = extents[dim]
    if isinstance(extent, int):
        return extent
    return extent.values[table_positions(extents, extent.over, at)]


def starts(extents: Extents, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    """Return where each index of the outermost dimension begins in storage, the total behind them: (B + 1,).

    Counted in `dtype`: floating-point numbers tell whether int64 would overflow.
    """
    first = largest(extents[0])
    outer = tuple(sorted(needed(extents) | {0}))
    inner = [dim for dim in range(len(extents)) if dim not in outer]
    factor = prod(extent for dim in inner if isinstance(extent := extents[dim], int))
    found = np.zeros(first + 1, dtype)
    if outer == (0,):
        sizes = np.full(first, factor, dtype)
        for dim in inner:
            if isinstance(extent := extents[dim], Lengths):
                sizes *= extent.values
        np.cumsum(sizes, out=found[1:])
        return found
    at = coordinates(extents, outer)
    sizes = np.full(at[0].size, factor, dtype)
    for dim in inner:
        if isinstance(extents[dim], Lengths):
            sizes *= extent_at(extents, dim, at)
    total = np.concatenate([found[:1], np.cumsum(sizes)])
    found[:] = total[np.searchsorted(at[0], np.arange(first + 1))]
    return found


def storage_positions(stored: Extents, at: Coordinates) -> Indices:
    """Return the place in storage of the indices `at` of the outermost dimensions, counted in what lies below them."""
    position: Any = np.int64(0)
    for dim in sorted(at):
        extent = stored[dim]
        if isinstance(extent, int):
            position = position * extent + at[dim]
        else:
            position = offsets_over(stored, dim, tuple(range(dim)))[position] + at[dim]
    return np.asarray(position)


def _varies(extent: Extent, dims: tuple[int, ...]) -> bool:
    return isinstance(extent, Lengths) and set(extent.over) <= set(dims)
