"""To Python's lists, and to arrays of other libraries that know of rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ragged.data import faults
from ragged.data.lengths import Lengths
from ragged.data.like import to_tensor
from ragged.data.parts import Parts, shape_of
from ragged.data.read import BFLOAT16
from ragged.data.repack import packed, stored_cells
from ragged.data.space import largest, last_variable, offsets_over


def to_list(parts: Parts) -> list[Any]:
    """Return nested lists, one level for each dimension."""
    parts = packed(parts)
    last = last_variable(parts.extents)
    level: list[Any] = stored_cells(parts.values, parts.extents, last + 1).tolist()
    for dim in range(last, 0, -1):
        offsets = offsets_over(parts.extents, dim, tuple(range(dim))).tolist()
        level = [level[begin:end] for begin, end in pairwise(offsets)]
    return level


def to_torch(parts: Parts) -> Any:
    """Return a jagged tensor that shares the memory of packed, writable values; of others a copy."""
    import torch

    extents = parts.extents
    if len(extents) < 2 or last_variable(extents) != 1:
        raise faults.not_jagged(shape_of(extents))
    rows = stored_cells(packed(parts).values, extents, 2)
    values = to_tensor(torch, rows if rows.flags.writeable else rows.copy())
    return torch.nested.nested_tensor_from_jagged(values, torch.from_numpy(offsets_over(extents, 1, (0,))))


def to_awkward(parts: Parts) -> Any:
    """Return an Awkward array that shares the memory of packed values; of others a copy."""
    import awkward

    if parts.values.dtype == BFLOAT16:
        raise faults.no_awkward_dtype(parts.values.dtype)
    parts = packed(parts)
    last = last_variable(parts.extents)
    cells = stored_cells(parts.values, parts.extents, last + 1)
    layout: Any = awkward.contents.NumpyArray(np.ascontiguousarray(cells))
    for dim in range(last, 0, -1):
        outer = tuple(range(dim))
        extent = parts.extents[dim]
        offsets = offsets_over(parts.extents, dim, outer)
        if isinstance(extent, Lengths):
            layout = awkward.contents.ListOffsetArray(awkward.index.Index64(offsets), layout)
        else:
            layout = awkward.contents.RegularArray(layout, largest(extent), zeros_length=offsets.size - 1)
    return awkward.Array(layout)
