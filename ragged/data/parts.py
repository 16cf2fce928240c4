"""What a ragged array consists of, as its makers and readers hand it to one another."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ragged.data import faults
from ragged.data.lengths import LIMIT, Lengths
from ragged.data.space import Extent, Extents, Padding, count, dense_shape, starts, stored_extents

_COUNTABLE = 2**59
"""The largest count of elements; of 8 bytes each, their bytes fit an int64 with a margin."""

Array = npt.NDArray[Any]


class Parts(NamedTuple):
    """`values` (n,): all stored elements in row-major order; `extents` and `padding`: one for each dimension."""

    values: Array
    extents: Extents
    padding: Padding

    @property
    def stored(self) -> Extents:
        """What storage holds of each dimension."""
        return stored_extents(self.extents, self.padding)


def unpadded(values: Array, extents: Extents) -> Parts:
    """Return the parts of an array without padding."""
    return Parts(values, extents, (1,) * len(extents))


def checked_extents(extents: Sequence[object]) -> Extents:
    """Return extents as given by a caller; `DataError` where they make no iteration space."""
    found: list[Extent] = []
    for dim, extent in enumerate(extents):
        found.append(_checked_extent(dim, extent))
        if isinstance(extent, Lengths):
            if extent.over[-1] >= dim:
                raise faults.over_inner(dim, extent.over)
            indices = count(tuple(found[:-1]), extent.over)
            if indices != extent.values.size:
                raise faults.table_size(dim, extent.over, extent.values.size, indices)
    if not found:
        raise faults.extents_none()
    return tuple(found)


def _checked_extent(dim: int, extent: object) -> Extent:
    if isinstance(extent, Lengths) and dim:
        return extent
    try:
        size = -1 if isinstance(extent, Lengths | bool) else index(extent)  # type: ignore[arg-type]
    except TypeError:
        size = -1
    if size < 0:
        raise faults.extent_invalid(dim, extent)
    return size


def checked_padding(padding: Sequence[int] | None, dims: int) -> Padding:
    """Return one multiple for each dimension; `DataError` for what is not that."""
    if padding is None:
        return (1,) * dims
    try:
        found = tuple(index(multiple) for multiple in padding)
    except TypeError as error:
        raise faults.padding_invalid(padding, dims) from error
    if len(found) != dims or not all(1 <= multiple <= LIMIT for multiple in found):
        raise faults.padding_invalid(padding, dims)
    return found


def checked_size(extents: Extents, padding: Padding) -> int:
    """Return the number of stored elements; `DataError` if their bytes could not be counted."""
    stored = stored_extents(extents, padding)
    dense, varies = prod(dense_shape(stored)), any(isinstance(extent, Lengths) for extent in stored)
    if dense >= _COUNTABLE:
        estimate = float(starts(stored, np.float64)[-1]) if varies else float(dense)
        if estimate >= _COUNTABLE:
            raise faults.too_large(estimate)
    return int(starts(stored)[-1]) if varies else dense


def shape_of(extents: Extents) -> tuple[int | None, ...]:
    """Return the shape, None for variable dimensions."""
    return tuple(extent if isinstance(extent, int) else None for extent in extents)


def cell_shape(extents: Extents, outer: int) -> tuple[int, ...]:
    """Return the extents of the dimensions from `outer` on, none of which varies."""
    return tuple(extent for extent in extents[outer:] if isinstance(extent, int))


def cropped(cells: Array, shape: tuple[int, ...]) -> Array:
    """Return a view of `cells` (..., *stored) that leaves padding out: (..., *shape)."""
    if cells.shape[cells.ndim - len(shape) :] == shape:
        return cells
    index: tuple[Any, ...] = (..., *(slice(extent) for extent in shape))
    view: Array = cells[index]
    return view
