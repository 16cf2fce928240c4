"""From rows: a list of arrays, packed rows with lengths, padded rows with a mask or lengths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.data import faults
from ragged.data.lengths import OUTERMOST, checked_lengths, derived_lengths, trusted_lengths
from ragged.data.parts import Array, Parts, unpadded
from ragged.data.read import checked_dtype, read_array, stored_values
from ragged.data.space import Extents
from ragged.errors import DataError

_dtype_of = attrgetter("dtype")


def from_arrays(rows: Sequence[Array], dtype: npt.DTypeLike | None) -> Parts:
    """Return the parts of an array with copies of `rows` as its rows, at least one, (length_i, ...) each."""
    values, extents = concatenated(rows, dtype, OUTERMOST)
    return unpadded(values, (len(rows), *extents))


def concatenated(
    rows: Sequence[Array], dtype: npt.DTypeLike | None, over: tuple[int, ...]
) -> tuple[Array, Extents]:
    """Return the elements of `rows`, at least one, copied: (n,), and the extents of their dimensions.

    A row is (length_i, ...) with the same dimensions after the first, or with some that extend length_i as well: square
    matrices. `over` are the dimensions that the rows are numbered by.
    """
    try:
        packed = _concatenated(rows, dtype)
    except DataError:
        inner = _square(rows)
        if not inner:
            raise
        packed = _concatenated([row.reshape(-1) for row in rows], dtype)
    else:
        inner = ()
    lengths = trusted_lengths(over, checked_lengths(np.fromiter(map(len, rows), np.int64, len(rows)))[0])
    cell = (lengths if dim in inner else extent for dim, extent in enumerate(rows[0].shape))
    return stored_values("the rows are", packed, dtype), (lengths, *islice(cell, 1, None))


def _square(rows: Sequence[Array]) -> tuple[int, ...]:
    """Return the inner dimensions that differ between rows, if each of them extends as far as the row is long."""
    if len({row.ndim for row in rows}) > 1 or not rows[0].ndim:
        return ()
    differ = [dim for dim in range(1, rows[0].ndim) if len({row.shape[dim] for row in rows}) > 1]
    return tuple(differ) if all(row.shape[dim] == len(row) for row in rows for dim in differ) else ()


def _concatenated(rows: Sequence[Array], dtype: npt.DTypeLike | None) -> Array:
    """Return a copy of `rows` (length_i, ...) as (sum of lengths, ...)."""
    if dtype is None and len(set(map(_dtype_of, rows))) > 1:
        row = next(row for row, array in enumerate(rows) if array.dtype != rows[0].dtype)
        raise faults.row_dtype(row, rows[row].dtype, rows[0].dtype)
    try:
        if dtype is None:
            packed = np.concatenate(rows)
        else:
            packed = np.concatenate(rows, dtype=checked_dtype(dtype), casting="unsafe")
    except ValueError as error:
        for row, array in enumerate(rows):
            if not array.ndim:
                raise faults.row_scalar(f"row {row}") from error
            if array.ndim != rows[0].ndim or array.shape[1:] != rows[0].shape[1:]:
                raise faults.row_shape(row, array.shape, rows[0].shape) from error
        raise
    return packed


def from_packed(data: Any, lengths: npt.ArrayLike, dtype: npt.DTypeLike | None) -> Parts:
    """Return the parts of an array that shares the memory of packed rows (sum of lengths, ...)."""
    rows = read_array("the array of rows", data)
    if not rows.ndim:
        raise faults.row_scalar("the array of packed rows")
    table, total = checked_lengths(lengths)
    if total != rows.shape[0]:
        looks_padded = rows.ndim > 1 and rows.shape[0] == table.size and table.max(initial=0) <= rows.shape[1]
        raise faults.lengths_sum(total, rows.shape[0], rows.shape if looks_padded else None)
    values = stored_values("the rows are", rows, dtype)
    return unpadded(values, (table.size, trusted_lengths(OUTERMOST, table), *rows.shape[1:]))


def from_padded(data: Any, lengths: npt.ArrayLike | None, mask: Any, dtype: npt.DTypeLike | None) -> Parts:
    """Return the parts of an array of copies of the data of padded rows (rows, longest row, ...).

    One of `lengths` (rows,) and `mask` (rows, longest row), True where there is data, says which that is.
    """
    rows = read_array("the padded array", data)
    if rows.ndim < 2:
        raise faults.padded_no_rows(rows.shape)
    if mask is not None:
        table = _lengths_of_mask(read_array("the mask", mask), rows.shape[:2])
    else:
        assert lengths is not None
        table, _ = checked_lengths(lengths)
        if table.size != rows.shape[0]:
            raise faults.lengths_rows(table.size, rows.shape[0])
        if table.max(initial=0) > rows.shape[1]:
            row = int(np.flatnonzero(table > rows.shape[1])[0])
            raise faults.padded_lengths(row, int(table[row]), rows.shape[1])
    packed = rows[np.arange(rows.shape[1]) < table[:, np.newaxis]]
    values = stored_values("the rows are", packed, dtype)
    return unpadded(values, (table.size, derived_lengths(OUTERMOST, table), *rows.shape[2:]))


def from_dense(rows: Array, dtype: npt.DTypeLike | None) -> Parts:
    """Return the parts of an array that shares the memory of rows of one length, (rows, length, ...)."""
    if rows.ndim < 2:
        raise faults.no_rows(f"one array of shape {rows.shape}, without lengths")
    values = stored_values("the rows are", rows, dtype)
    lengths = derived_lengths(OUTERMOST, np.full(rows.shape[0], rows.shape[1], np.int32))
    return unpadded(values, (rows.shape[0], lengths, *rows.shape[2:]))


def _lengths_of_mask(mask: Array, shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    if mask.shape != shape or mask.dtype != np.bool_:
        raise faults.mask_no_table(mask.shape, mask.dtype, shape)
    late = mask[:, 1:] & ~mask[:, :-1]
    if late.any():
        row, column = (int(place) for place in np.argwhere(late)[0])
        raise faults.mask_no_prefix(row, column + 1)
    lengths: npt.NDArray[np.int32] = mask.sum(axis=1, dtype=np.int32)
    return lengths
