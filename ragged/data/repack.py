"""Moving elements between storages: packed, padded to multiples, dense."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ragged.data import faults
from ragged.data.lengths import Lengths
from ragged.data.parts import Array, Parts, cell_shape, cropped, unpadded
from ragged.data.space import (
    Coordinates,
    Extents,
    Padding,
    coordinates,
    count,
    dense_shape,
    extents_over,
    is_rectangular,
    last_variable,
    starts,
    storage_positions,
    stored_extents,
)


def packed(parts: Parts) -> Parts:
    """Return `parts` without padding: themselves if they have none, else a copy."""
    if max(parts.padding) == 1:
        return parts
    _, rows = _rows(parts)
    return unpadded(rows.flatten(), parts.extents)


def padded(parts: Parts, padding: Padding, value: Any) -> Parts:
    """Return `parts` stored with `padding` that holds `value`: themselves if they are stored so, else a copy."""
    if padding == parts.padding:
        return parts
    at, rows = _rows(parts)
    stored = stored_extents(parts.extents, padding)
    result = Parts(np.full(int(starts(stored)[-1]), value, parts.values.dtype), parts.extents, padding)
    cells = stored_cells(result.values, stored, len(at))
    cropped(cells, rows.shape[1:])[storage_positions(stored, at)] = rows
    return result


def dense(parts: Parts, value: Any) -> Array:
    """Return a new dense array, `value` where there are no elements."""
    at, rows = _rows(parts)
    result = np.full(dense_shape(parts.extents), value, parts.values.dtype)
    result[tuple(at.values())] = rows
    return result


def mask(extents: Extents) -> Array:
    """Return which elements of the dense array are there, of all dimensions up to the last variable one."""
    last = last_variable(extents)
    result = np.zeros(dense_shape(extents[: last + 1]), np.bool_)
    result[tuple(coordinates(extents, tuple(range(last + 1))).values())] = True
    return result


def rectangle(parts: Parts, purpose: str) -> Array:
    """Return a dense view of an array with constant extents; `DataError` for others."""
    if not is_rectangular(parts.extents):
        raise _not_rectangular(parts.extents, purpose)
    shape = dense_shape(parts.extents)
    if not prod(shape):
        return np.zeros(shape, parts.values.dtype)
    return cropped(parts.values.reshape(dense_shape(parts.stored)), shape)


def stored_cells(values: Array, stored: Extents, outer: int) -> Array:
    """Return a view of storage as (number of indices of the `outer` outermost dimensions, *the other extents)."""
    cell = cell_shape(stored, outer)
    size = prod(cell)
    number = values.size // size if size else count(stored, tuple(range(outer)))
    return values.reshape(number, *cell)


def _rows(parts: Parts) -> tuple[Coordinates, Array]:
    """Enumerate what lies outside of the dimensions that are fixed to the end, and its elements without padding."""
    outer = last_variable(parts.extents) + 1
    at = coordinates(parts.extents, tuple(range(outer)))
    stored = parts.stored
    cells = cropped(stored_cells(parts.values, stored, outer), cell_shape(parts.extents, outer))
    if stored[:outer] == parts.extents[:outer]:
        return at, cells
    return at, cells[storage_positions(stored, at)]


def _not_rectangular(extents: Extents, purpose: str) -> Exception:
    varying = (
        dim for dim, extent in enumerate(extents) if isinstance(extent, Lengths) and not extent.is_constant
    )
    dim = next(varying)
    table = extents_over(extents, dim, tuple(range(dim)))
    row = int(np.argmax(table != table[0]))
    return faults.not_rectangular(purpose, dim, int(table[0]), row, int(table[row]))
