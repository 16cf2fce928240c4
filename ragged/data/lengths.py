"""Lengths: the extent of a variable dimension, for each index of the outer dimensions that it depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.data import faults
from ragged.data.read import read_array

LIMIT = 2**31 - 1
"""The largest length; what lengths sum to is counted in 64-bit integers."""

_UNSIGNED: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.int32): np.dtype(np.uint32),
    np.dtype(np.int64): np.dtype(np.uint64),
}
_INT32 = np.dtype(np.int32)
_max = np.maximum.reduce
_sum = np.add.reduce


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Lengths:
    """The extent of a dimension of a ragged array, as a table over outer dimensions.

    `over`: the positions of the outer dimensions that it depends on, ascending, at least one. `values` (n,), int32,
    read-only and owned: the extent for each index of those, in row-major order of their own iteration space, which may
    be ragged itself. If one of them depends on a dimension that is not in `over`, it counts there with its largest
    extent. The constructor copies any integers, and refuses with a `DataError` what is negative or too much.

    >>> Lengths(over=(0,), values=[3, 0, 2]).values.tolist()
    [3, 0, 2]
    """

    over: tuple[int, ...]
    values: npt.NDArray[np.int32]

    def __init__(self, over: Sequence[int], values: npt.ArrayLike) -> None:
        dims = tuple(index(dim) for dim in over)
        if not dims or list(dims) != sorted(set(dims)) or dims[0] < 0:
            raise faults.over_order(dims)
        object.__setattr__(self, "over", dims)
        object.__setattr__(self, "values", checked_lengths(values)[0])

    @property
    def largest(self) -> int:
        """The largest extent, 0 if there is none."""
        return int(_max(self.values, initial=0))

    @property
    def is_constant(self) -> bool:
        """Whether all extents are the same."""
        values = self.values
        return not values.size or bool((values == values[0]).all())


OUTERMOST = (0,)


def trusted_lengths(over: tuple[int, ...], values: npt.NDArray[np.int32]) -> Lengths:
    """Return lengths of checked `values`: int32, contiguous and not written by others."""
    lengths = object.__new__(Lengths)
    object.__setattr__(lengths, "over", over)
    object.__setattr__(lengths, "values", values)
    return lengths


def derived_lengths(over: tuple[int, ...], values: npt.NDArray[Any]) -> Lengths:
    """Return lengths of a fresh array of integers that is known to hold legal ones."""
    table = values.astype(np.int32, copy=False)
    table.setflags(write=False)
    return trusted_lengths(over, table)


def checked_lengths(values: npt.ArrayLike) -> tuple[npt.NDArray[np.int32], int]:
    """Return lengths as a read-only int32 copy, and their sum; `DataError` for what are none."""
    array = read_array("the array of lengths", values)
    if not isinstance(values, list | tuple):
        array = array.copy()
    if not array.size and array.ndim == 1:
        array = array.astype(np.int32)  # NumPy makes float64 of []
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise faults.lengths_no_integers(array.ndim, array.dtype)
    unsigned = _UNSIGNED.get(array.dtype)
    if unsigned is None:
        unsigned = np.dtype(np.uint64)
        # An unsigned number beyond int64 stays what it is: the message tells of it, not of a negative one.
        array = array.astype(unsigned if array.dtype.kind == "u" else np.int64)
    # As an unsigned number a negative one is larger than any legal one: one pass finds both faults.
    if _max(array.view(unsigned), initial=0) > LIMIT:
        raise _bad_length(array)
    total = int(_sum(array, dtype=np.int64))
    table = array if array.dtype == _INT32 else array.astype(_INT32)
    table.setflags(write=False)
    return table, total


def _bad_length(array: npt.NDArray[Any]) -> Exception:
    row = int(np.flatnonzero((array < 0) | (array > LIMIT))[0])
    value = int(array[row])
    return faults.negative_length(row, value) if value < 0 else faults.length_overflow(row, value, LIMIT)
