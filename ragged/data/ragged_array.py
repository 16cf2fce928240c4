"""The ragged array: one row-major run of elements, and the extent of each dimension for each outer index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from ragged.data import compare, display, faults, repack, to_others, ufuncs
from ragged.data.index import WHOLE, full_index, in_range
from ragged.data.parts import Array, Parts, checked_extents, checked_padding, checked_size, shape_of
from ragged.data.read import checked_dtype, read_array, stored_values
from ragged.data.select import Selection, gather, narrowed, row, rows
from ragged.data.space import Extent
from ragged.data.stored import Stored

Part = Any
"""What an index selects: a NumPy array or number where nothing varies any more, else a RaggedArray."""


class RaggedArray(Stored, NDArrayOperatorsMixin):
    """An array with extents that may depend on outer indices; CoRa, section 4.

    `values`: all stored elements, row-major; shared if C-contiguous, otherwise copied. `extents`: for each
    dimension an int, or `Lengths`; the outermost is an int. `padding`: for each dimension the multiple that storage
    rounds its extents up to (1: none); a dimension that another's extent depends on is stored without padding whatever
    its multiple. `DataError` where the three do not fit together.

    Element (b, t, w) of dimensions (B, Lengths(over=(0,)), 512) is values[(offsets(1)[b] + t) * 512 + w]. An object is
    never changed but for its elements, through `values` and other views of it. `ragged.array` makes ragged arrays from
    what else there is.

    >>> RaggedArray([1, 2, 3], (2, Lengths(over=(0,), values=[1, 2]))).to_list()
    [[1], [2, 3]]
    """

    __slots__ = ()

    def __init__(
        self, values: npt.ArrayLike, extents: Sequence[Extent], padding: Sequence[int] | None = None
    ) -> None:
        self._extents = checked_extents(extents)
        self._padding = checked_padding(padding, len(self._extents))
        self._values = stored_values("the values are", read_array("the array of values", values), None)
        self._starts = None
        size = checked_size(self._extents, self._padding)
        if size != self._values.size:
            raise faults.storage_size(str(shape_of(self._extents)), size, self._values.size)

    @classmethod
    def full(
        cls,
        extents: Sequence[Extent],
        value: Any,
        dtype: npt.DTypeLike = np.float32,
        padding: Sequence[int] | None = None,
    ) -> RaggedArray:
        """Make an array of `value` everywhere, padding included, in memory of its own."""
        array = cls.empty(extents, dtype, padding)
        array.values[...] = value
        return array

    @classmethod
    def zeros(
        cls,
        extents: Sequence[Extent],
        dtype: npt.DTypeLike = np.float32,
        padding: Sequence[int] | None = None,
    ) -> RaggedArray:
        """Make an array of zeros, in memory of its own."""
        return cls._allocated(np.zeros, extents, dtype, padding)

    @classmethod
    def empty(
        cls,
        extents: Sequence[Extent],
        dtype: npt.DTypeLike = np.float32,
        padding: Sequence[int] | None = None,
    ) -> RaggedArray:
        """Make an array of whatever its memory held, in memory of its own."""
        return cls._allocated(np.empty, extents, dtype, padding)

    @classmethod
    def _allocated(
        cls, make: Any, extents: Sequence[Extent], dtype: npt.DTypeLike, padding: Sequence[int] | None
    ) -> RaggedArray:
        checked = checked_extents(extents)
        multiples = checked_padding(padding, len(checked))
        values = make(checked_size(checked, multiples), checked_dtype(dtype))
        return with_parts(Parts(values, checked, multiples))

    def __getitem__(self, index: Any) -> Part:
        """Return what `index` selects: integers and slices of any dimensions, and an Ellipsis.

        With integers first, then at most one slice of step 1, it shares this array's memory; otherwise it is a copy
        without padding. `DataError` for other indices, an `IndexError` as well where an index is out of range.
        """
        first, *rest = full_index(index, self.ndim)
        whole = all(item == WHOLE for item in rest)
        if isinstance(first, int):
            found = _made(row(self._parts, in_range(first, len(self)), self._starting()))
            if whole:
                return found
            try:
                return found[tuple(rest)]
            except IndexError:  # it names the dimensions of the row
                Selection(self._extents, (first, *rest))
                raise
        if whole and first.step in (None, 1):
            return with_parts(rows(self._parts, first, self._starting()))
        return _made(narrowed(gather(self._parts, (first, *rest))))

    def __iter__(self) -> Iterator[Part]:
        parts, begins = self._parts, self._starting()
        return (_made(row(parts, index, begins)) for index in range(len(self)))

    def rows(self) -> list[Part]:
        """Return what each index of the outermost dimension selects, sharing memory: NumPy arrays, or ragged ones."""
        return list(self)

    def packed(self) -> RaggedArray:
        """Return an array without padding: itself if it has none, else a copy."""
        return self if max(self._padding) == 1 else with_parts(repack.packed(self._parts))

    def with_padding(self, padding: Sequence[int], value: Any = 0) -> RaggedArray:
        """Return an array stored with `padding` that holds `value`: itself if it is stored so, else a copy."""
        parts = repack.padded(self._parts, checked_padding(padding, self.ndim), value)
        return self if parts.values is self._values else with_parts(parts)

    def astype(self, dtype: npt.DTypeLike) -> RaggedArray:
        """Return a copy with elements of another type."""
        return with_parts(self._parts._replace(values=self._values.astype(checked_dtype(dtype))))

    def copy(self) -> RaggedArray:
        """Return an array with the same elements in memory of its own."""
        return with_parts(self._parts._replace(values=self._values.copy()))

    def to_list(self) -> list[Any]:
        """Return the elements as nested Python lists, a level for each dimension."""
        return to_others.to_list(self._parts)

    def to_padded(self, value: Any = 0) -> Array:
        """Return a new dense array, each dimension as long as its largest extent, `value` where nothing is."""
        return repack.dense(self._parts, value)

    def mask(self) -> npt.NDArray[np.bool_]:
        """Return where `to_padded` has elements: booleans, of the dimensions up to the last variable one."""
        return repack.mask(self._extents)

    def to_torch(self) -> Any:
        """Return a jagged nested tensor; shares memory that is packed and writable, else copies.

        `DataError` unless dimension 1 is the one that varies.
        """
        return to_others.to_torch(self._parts)

    def to_awkward(self) -> Any:
        """Return an Awkward array, variable dimensions as lists, fixed ones regular; shares memory that is packed."""
        return to_others.to_awkward(self._parts)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.asarray(repack.rectangle(self._parts, "a dense array"), dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return repack.rectangle(self._parts, "a DLPack tensor").__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._values.__dlpack_device__()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        """Apply a universal function of NumPy element by element; Python's operators come here too.

        Operands are ragged arrays of the same extents, numbers, and dense arrays that NumPy broadcasts to the dense
        dimensions after the last variable one. Returns a ragged array without padding, in memory of its own. `out=`
        is a ragged array; its padding is set to zeros. `DataError` where operands do not fit together.
        """
        places = options.pop("out", (None,) * ufunc.nout)
        if method in ("reduce", "accumulate", "reduceat"):
            raise faults.not_elementwise(ufunc.__name__, method)
        if method != "__call__" or ufunc.signature or not options.keys() <= {"dtype", "casting"}:
            return NotImplemented
        for operand in (*operands, *(place for place in places if place is not None)):
            if isinstance(operand, list | tuple):
                raise faults.not_an_operand(ufunc.__name__, operand)
            if not isinstance(operand, RaggedArray) and not ufuncs.is_operand(operand):
                return NotImplemented
        read = tuple(operand._parts if isinstance(operand, RaggedArray) else operand for operand in operands)
        found = tuple(with_parts(parts) for parts in ufuncs.apply(ufunc, read, options))
        results = tuple(
            one if place is None else one._written_to(place) for one, place in zip(found, places, strict=True)
        )
        return results[0] if ufunc.nout == 1 else results

    def _written_to(self, place: Any) -> RaggedArray:
        if not isinstance(place, RaggedArray) or not compare.same_shape(self._extents, place._extents):
            raise faults.not_an_output(place)
        np.copyto(place._values, repack.padded(self._parts, place._padding, 0).values, casting="same_kind")
        return place

    def __eq__(self, other: object) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else np.equal(self, other)  # type: ignore[call-overload]

    def __ne__(self, other: object) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else np.not_equal(self, other)  # type: ignore[call-overload]

    def equal(self, other: RaggedArray) -> bool:
        """Return whether `other` has the same extents and equal elements; dtypes and padding do not matter."""
        return self._agrees(other) and np.array_equal(self.packed().values, other.packed().values)

    def allclose(self, other: RaggedArray, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
        """Return whether `other` has the same extents, and elements within `atol + rtol * abs(other)`."""
        return self._agrees(other) and np.allclose(self.packed().values, other.packed().values, rtol, atol)

    def _agrees(self, other: object) -> bool:
        if not isinstance(other, RaggedArray):
            raise faults.not_an_operand("equal", other)
        return compare.same_shape(self._extents, other._extents)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise faults.truth(self.size)
        return bool(self.packed().values[0])

    def __str__(self) -> str:
        return display.render(self, self.size, self.dtype, separator=" ", indent=0)

    def __repr__(self) -> str:
        head = "ragged.array("
        body = display.render(self, self.size, self.dtype, separator=", ", indent=len(head))
        padding = f", padding={self.padding}" if max(self.padding) > 1 else ""
        return f"{head}{body}, shape={self.shape}, dtype={self.dtype}{padding})"


def with_parts(parts: Parts) -> RaggedArray:
    """Return the array of parts that are known to fit together."""
    array = object.__new__(RaggedArray)
    array._values, array._extents, array._padding = parts
    array._starts = None
    return array


def _made(found: Parts | Array) -> Part:
    return with_parts(found) if isinstance(found, Parts) else found
