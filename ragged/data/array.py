"""`ragged.array`: one function for all that a ragged array can be made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.data import faults
from ragged.data.from_lists import from_lists
from ragged.data.from_others import from_awkward, from_nested_tensor, is_awkward, is_nested_tensor
from ragged.data.from_rows import from_dense, from_packed, from_padded
from ragged.data.parts import Parts, checked_padding
from ragged.data.ragged_array import RaggedArray, with_parts
from ragged.data.read import checked_dtype, is_array, read_array, stored_values
from ragged.data.repack import padded as repadded
from ragged.data.space import Extent


def array(
    data: Any,
    *,
    lengths: npt.ArrayLike | None = None,
    mask: Any = None,
    padded: bool = False,
    extents: Sequence[Extent] | None = None,
    padding: Sequence[int] | None = None,
    dtype: npt.DTypeLike | None = None,
) -> RaggedArray:
    """Make a ragged array.

    `data` is one of

    - a list of arrays or tensors (length_i, ...) of one dtype and trailing shape, or of one dtype and square, as
      (length_i, length_i, ...) is: copied;
    - packed rows (sum of `lengths`, ...) with `lengths` (rows,): shared if C-contiguous;
    - padded rows (rows, longest row, ...) with `mask` (rows, longest row), booleans, True at the beginning of each row
      where there is data, or with `lengths` and `padded=True`: copied;
    - nested lists of any depth, with variable inner dimensions: copied; Python's floats become float32;
    - a nested tensor of torch's or an Awkward array: shared if its elements are packed;
    - all stored elements (any shape, row-major) with `extents`, an int or `Lengths` for each dimension, and the
      `padding` that they are stored with: shared if C-contiguous;
    - one array (rows, length, ...), with rows of equal length: shared if C-contiguous;
    - a ragged array: shared.

    `padding`: for each dimension the multiple that storage rounds extents up to, filled with zeros; with `extents` the
    values are already padded, and are shared. A `dtype` other than the elements' converts, which copies. Arrays are
    read as NumPy does or through DLPack. The caller owns shared memory: changes are visible on both sides. Lengths are
    always copied.

    Raises `DataError`: lengths that are negative, too much, or do not sum to the rows; rows of different dtypes or
    trailing shapes; a mask that is no prefix; options that exclude each other; what is none of the above.

    >>> array([[1, 2], [], [3]]).lengths.tolist()
    [2, 0, 1]
    """
    if extents is not None:
        _one_meaning(
            {"lengths": lengths is not None, "mask": mask is not None, "padded": padded, "extents": True}
        )
        values = stored_values("the values are", read_array("the array of values", data), dtype)
        return RaggedArray(values, extents, padding)
    if mask is not None or (padded and lengths is not None):
        _one_meaning({"lengths": lengths is not None, "mask": mask is not None})
        parts = from_padded(data, lengths, mask, dtype)
    elif padded:
        raise faults.no_rows("padded rows without lengths= or mask=")
    elif lengths is not None:
        parts = from_packed(data, lengths, dtype)
    else:
        parts = _from_whole(data, dtype)
    if padding is not None:
        parts = repadded(parts, checked_padding(padding, len(parts.extents)), 0)
    return with_parts(parts)


def _from_whole(data: Any, dtype: npt.DTypeLike | None) -> Parts:
    """Return the parts of what says by itself where rows end."""
    if isinstance(data, list | tuple):
        return from_lists(data, dtype)
    if isinstance(data, RaggedArray):
        values = data.values if dtype is None else data.values.astype(checked_dtype(dtype), copy=False)
        return Parts(values, data.extents, data.padding)
    if is_nested_tensor(data):
        return from_nested_tensor(data, dtype)
    if is_awkward(data):
        return from_awkward(data, dtype)
    if isinstance(data, np.ndarray) and data.dtype == np.object_ and data.ndim == 1:
        return from_lists(data.tolist(), dtype)
    if is_array(data):
        return from_dense(read_array("the array", data), dtype)
    raise faults.no_rows(f"an object of type {type(data).__name__} has no rows")


def _one_meaning(given: dict[str, bool]) -> None:
    names = [f"{name}=" for name, present in given.items() if present]
    if len(names) > 1:
        raise faults.several_meanings(names)
