"""What a ragged array says of itself: its parts, and what follows from them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.data import faults
from ragged.data.lengths import Lengths
from ragged.data.parts import Array, Parts, shape_of
from ragged.data.space import Extents, Indices, Padding, dense_shape, offsets_over, starts


class Stored:
    """Elements in memory, the extents of their dimensions, and the padding that they are stored with."""

    __slots__ = ("_extents", "_padding", "_starts", "_values")

    _values: Array
    _extents: Extents
    _padding: Padding
    _starts: Indices | None

    @property
    def values(self) -> Array:
        """All stored elements, padding included, in row-major order: (n,); the array's own memory, shared."""
        return self._values

    @property
    def extents(self) -> Extents:
        """For each dimension an int, or `Lengths`: how many indices it has."""
        return self._extents

    @property
    def padding(self) -> Padding:
        """For each dimension the multiple that storage rounds its extents up to."""
        return self._padding

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._values.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._extents)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The extents, None for variable ones."""
        return shape_of(self._extents)

    @property
    def size(self) -> int:
        """The number of elements without padding."""
        return self._values.size if max(self._padding) == 1 else int(starts(self._extents)[-1])

    @property
    def nbytes(self) -> int:
        """The bytes of the stored elements, padding included."""
        return self._values.nbytes

    @property
    def padded_nbytes(self) -> int:
        """The bytes of the dense array that `to_padded` makes."""
        return prod(dense_shape(self._extents)) * self._values.itemsize

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """The lengths of the one variable dimension, read-only; `DataError` if there is none, or several."""
        variable = tuple(dim for dim, extent in enumerate(self._extents) if isinstance(extent, Lengths))
        if len(variable) != 1:
            raise faults.no_lengths(variable)
        return self.lengths_of(variable[0])

    def lengths_of(self, dim: int) -> npt.NDArray[np.int32]:
        """Return the lengths of dimension `dim` for each index of those that it depends on: of a fixed one (1,)."""
        dim = self._dimension(dim)
        extent = self._extents[dim]
        return extent.values if isinstance(extent, Lengths) else np.array([extent], np.int32)

    def offsets(self, dim: int) -> npt.NDArray[np.int64]:
        """Return where each index of the dimensions outside of `dim` begins, in indices of `dim`; the total at the end.

        Element (i, j, k) of three dimensions is values[offsets(2)[offsets(1)[i] + j] + k]; of a fixed dimension too.
        """
        dim = self._dimension(dim)
        return offsets_over(self._parts.stored, dim, tuple(range(dim)))

    def _dimension(self, dim: int) -> int:
        if not -self.ndim <= dim < self.ndim:
            raise faults.no_dimension(dim, self.ndim)
        return dim % self.ndim

    @property
    def _parts(self) -> Parts:
        return Parts(self._values, self._extents, self._padding)

    def _starting(self) -> Indices:
        """Return where each index of the outermost dimension begins in storage; counted once."""
        if self._starts is None:
            self._starts = starts(self._parts.stored)
        return self._starts

    def __len__(self) -> int:
        return dense_shape(self._extents[:1])[0]
