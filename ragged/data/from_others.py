"""From arrays of other libraries that know of rows: torch's jagged tensors and Awkward arrays, by what they offer."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.data import faults
from ragged.data.from_lists import from_lists
from ragged.data.from_rows import from_arrays, from_packed
from ragged.data.lengths import Lengths, checked_lengths, trusted_lengths
from ragged.data.parts import Parts, unpadded
from ragged.data.read import read_array, stored_values
from ragged.data.space import Extent


def is_nested_tensor(data: object) -> bool:
    """Return whether `data` is a nested tensor of torch's."""
    return getattr(data, "is_nested", False) is True


def from_nested_tensor(data: Any, dtype: npt.DTypeLike | None) -> Parts:
    """Return the parts of an array of a jagged tensor's elements: shared, if its values are packed rows.

    A nested tensor of the older, strided layout is taken as the list of its rows.
    """
    if not hasattr(data, "offsets") or "jagged" not in str(data.layout):
        return from_lists(list(data.unbind()), dtype)
    # A jagged dimension is all that torch keeps no plain int for.
    varying = next((dim for dim, extent in enumerate(data.shape) if not isinstance(extent, int)), 1)
    if varying != 1:
        shape = ", ".join(str(extent) if isinstance(extent, int) else "*" for extent in data.shape)
        raise faults.jagged_dimension(varying, f"({shape})")
    rows = read_array("the nested tensor's values", data.values())
    offsets = read_array("the nested tensor's offsets", data.offsets())
    if data.lengths() is None and offsets[0] == 0:
        return from_packed(rows[: offsets[-1]], np.diff(offsets), dtype)
    # Rows with gaps between them, as narrow() leaves them.
    lengths = np.diff(offsets) if data.lengths() is None else read_array("its lengths", data.lengths())
    return from_arrays([rows[begin : begin + n] for begin, n in zip(offsets, lengths, strict=False)], dtype)


def is_awkward(data: object) -> bool:
    """Return whether `data` is an Awkward array."""
    return type(data).__module__.partition(".")[0] == "awkward" and hasattr(data, "layout")


def from_awkward(data: Any, dtype: npt.DTypeLike | None) -> Parts:
    """Return the parts of an array of an Awkward array's elements: shared, if they stand packed in its memory.

    Lists are variable dimensions, regular ones fixed; a length depends on all dimensions further out.
    """
    if str(data.layout.backend.name) != "cpu":
        raise faults.awkward_positions()
    layout = data.layout.to_packed()
    extents: list[Extent] = [int(layout.length)]
    while layout.is_list:
        if layout.parameters:  # "string" and others that are no lists of numbers
            raise faults.awkward_layout(str(layout.purelist_parameter("__array__")), len(extents))
        if layout.is_regular:
            extents.append(int(layout.size))
        else:
            table, _ = checked_lengths(np.diff(np.asarray(layout.offsets.data)))
            extents.append(_lengths(len(extents), table))
        layout = layout.content
    if layout.is_unknown:
        return unpadded(np.zeros(0, np.float32 if dtype is None else dtype), _with_rows(extents))
    if not layout.is_numpy:
        raise faults.awkward_layout(type(layout).__name__, len(extents))
    values = np.asarray(layout.data)
    return unpadded(
        stored_values("the Awkward array is", values, dtype), _with_rows([*extents, *values.shape[1:]])
    )


def _lengths(dims: int, table: npt.NDArray[np.int32]) -> Lengths:
    return trusted_lengths(tuple(range(dims)), table)


def _with_rows(extents: list[Extent]) -> tuple[Extent, ...]:
    """Return the extents of an empty batch as those of a batch of no rows."""
    return tuple(extents) if len(extents) > 1 or extents[0] else (0, _lengths(1, np.zeros(0, np.int32)))
