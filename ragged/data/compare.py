"""Comparing the extents of ragged arrays."""

from __future__ import annotations

import numpy as np

from ragged.data.lengths import Lengths
from ragged.data.space import Extents, extents_over


def same_shape(left: Extents, right: Extents) -> bool:
    """Return whether two arrays have the same indices."""
    return len(left) == len(right) and first_difference(left, right) is None


def first_difference(left: Extents, right: Extents) -> tuple[int, int, int, int] | None:
    """Return (dimension, row, extent on the left, extent on the right) of the first extents that differ, if any.

    Both have as many dimensions. What the extents are stored as tables over does not matter.
    """
    for dim, (ours, theirs) in enumerate(zip(left, right, strict=True)):
        if ours is theirs or _same_table(ours, theirs):
            continue
        outer = tuple(range(dim))
        one, other = extents_over(left, dim, outer), extents_over(right, dim, outer)
        if (one != other).any():
            row = int(np.argmax(one != other))
            return dim, row, int(one[row]), int(other[row])
    return None


def _same_table(ours: object, theirs: object) -> bool:
    if isinstance(ours, Lengths) and isinstance(theirs, Lengths):
        return ours.over == theirs.over and np.array_equal(ours.values, theirs.values)
    return ours == theirs
