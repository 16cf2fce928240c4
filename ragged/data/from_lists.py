"""From nested Python lists of any depth: each level is a dimension, the inner ones variable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.data import faults
from ragged.data.from_rows import concatenated, from_arrays
from ragged.data.lengths import Lengths, derived_lengths
from ragged.data.parts import Parts, unpadded
from ragged.data.read import is_array, read_array, stored_values
from ragged.data.space import Extents

_ARRAYS = {np.ndarray}


def from_lists(data: Sequence[Any], dtype: npt.DTypeLike | None) -> Parts:
    """Return the parts of an array of copies of what nested lists hold: numbers, or arrays (length, ...).

    The outermost list is dimension 0, each list in it a row, and so on; of arrays the first dimension is variable as
    well, and the others are fixed. The length of a list depends on all dimensions further out.
    """
    kinds = set(map(type, data))
    if kinds == _ARRAYS:
        return from_arrays(data, dtype)
    level: Sequence[Any] = data
    lengths: list[list[int]] = []
    while kinds and kinds <= {list, tuple}:
        lengths.append(list(map(len, level)))
        level = list(chain.from_iterable(level))
        kinds = set(map(type, level))
    cell: Extents = ()
    if level and all(issubclass(kind, np.number | np.bool_ | int | float) for kind in kinds):
        numbers = np.array(level)
        if dtype is None and float in kinds and numbers.dtype == np.float64:
            numbers = numbers.astype(np.float32)  # Python's floats have no width of their own
        values = stored_values("the elements are", numbers, dtype)
    elif level and all(map(is_array, level)):
        arrays = [read_array(_path(lengths, place), value) for place, value in enumerate(level)]
        values, cell = concatenated(arrays, dtype, tuple(range(len(lengths) + 1)))
    elif level:
        raise _mixed(level, lengths)
    else:
        values = np.zeros(0, np.float32 if dtype is None else dtype)
        lengths = lengths or [[]]  # a batch of no rows has rows all the same
    tables = [_table(dim, table) for dim, table in enumerate(lengths, 1)]
    return unpadded(values, (len(data), *tables, *cell))


def _table(dim: int, lengths: list[int]) -> Lengths:
    return derived_lengths(tuple(range(dim)), np.array(lengths, np.int32))


def _mixed(level: Sequence[Any], lengths: list[list[int]]) -> Exception:
    """Return the message about the first element that is no number, list or array, or not what the first one is."""
    names = [_kind(value) for value in level]
    expected = names[0] or next((name for name in names if name), "number")
    place = next(place for place, name in enumerate(names) if name != expected)
    other = names.index(expected) if expected in names else place
    first = "" if other == place else _path(lengths, other)
    return faults.list_level(_path(lengths, place), level[place], first, expected)


def _kind(value: object) -> str:
    if isinstance(value, list | tuple):
        return "list"
    if isinstance(value, np.number | np.bool_ | int | float):
        return "number"
    return "array" if is_array(value) else ""


def _path(lengths: Iterable[list[int]], place: int) -> str:
    """Return how Python indexes the element that is number `place` of its depth."""
    indices: list[int] = []
    for table in reversed(list(lengths)):
        ends = np.cumsum(table)
        row = int(np.searchsorted(ends, place, side="right"))
        indices.append(place - int(ends[row]) + table[row])
        place = row
    return "element " + "".join(f"[{index}]" for index in (place, *reversed(indices)))
