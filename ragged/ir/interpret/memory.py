"""The memory of an interpreted program, and the record of the iterations that accessed it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ragged.ir.dtype import DType
from ragged.ir.expr import Buffer, Var
from ragged.ir.interpret.faults import Fault, OutOfBounds, Overflow, Race, Undefined

Value: TypeAlias = Any
"""`int` for integer dtypes, `bool` for BOOL, a NumPy scalar for float dtypes: rounded after each operator."""

Array: TypeAlias = np.ndarray[Any, Any]


def poison(dtype: DType) -> Value:
    """Return what an element holds that was never written: NaN, two of them in a pair, the least or largest integer."""
    if dtype is DType.BFLOAT16X2:
        return 0x7FC07FC0
    if dtype.is_float:
        return float("nan")
    if dtype.is_unsigned:
        return (1 << 8 * dtype.bytes) - 1
    return -(1 << 8 * dtype.bytes - 1) if dtype.is_int else False


@dataclass(slots=True, eq=False)
class Cells:
    """Memory in the order of its addresses, with a mark for each element that was written.

    `depth` counts the concurrent loops around the place where it was allocated: only those further in can
    race.
    """

    values: Array
    written: bytearray
    depth: int

    @staticmethod
    def empty(dtype: DType, size: int, depth: int) -> Cells:
        """Return memory of `size` elements that nothing has written."""
        return Cells(np.full(size, poison(dtype), dtype.numpy), bytearray(size), depth)


@dataclass(slots=True, eq=False)
class View:
    """A buffer's indices over memory: `offset = sum(index * stride)`, row-major over the buffer's `order`."""

    buffer: Buffer
    shape: tuple[int, ...]
    cells: Cells
    strides: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        strides = [0] * len(self.shape)
        step = 1
        for dimension in reversed(self.buffer.order):
            strides[dimension] = step
            step *= self.shape[dimension]
        self.strides = tuple(strides)

    @property
    def size(self) -> int:
        """How many elements the buffer has."""
        return math.prod(self.shape)

    def array(self) -> Array:
        """Return a copy of the contents, indexed as the buffer is."""
        order = self.buffer.order
        stored = self.cells.values[: self.size].reshape([self.shape[d] for d in order])
        return np.array(stored.transpose(np.argsort(order)), order="C") if order else stored.copy()

    def fill(self, contents: Array) -> None:
        """Write all elements, given as the buffer is indexed."""
        self.cells.values[: self.size] = contents.transpose(self.buffer.order).reshape(-1)
        self.cells.written[: self.size] = b"\1" * self.size


@dataclass(slots=True)
class Touch:
    """The iterations that accessed an element: at most one writer, and two readers, which stand for all.

    With each iteration goes the label of its access.
    """

    writer: tuple[int, str] | None = None
    readers: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class TouchedElements:
    """The elements that the iterations of a concurrent loop touched since it began, or since its last barrier.

    Two iterations race when both touch an element and one of them writes it, in whatever order they run here.
    """

    noun: str
    touched: dict[tuple[Cells, int], Touch] = field(default_factory=dict)

    def read(self, element: tuple[Cells, int], iteration: int, place: str) -> tuple[int, str] | None:
        """Record a read by iteration `iteration`, and return the iteration that it races with, if any."""
        touch = self._touch(element)
        if touch.writer is not None and touch.writer[0] != iteration:
            return touch.writer
        if iteration not in touch.readers and len(touch.readers) < 2:
            touch.readers[iteration] = place
        return None

    def write(self, element: tuple[Cells, int], iteration: int, place: str) -> tuple[int, str] | None:
        """Record a write by iteration `iteration`, and return the iteration that it races with, if any."""
        touch = self._touch(element)
        if touch.writer is not None and touch.writer[0] != iteration:
            return touch.writer
        for other in touch.readers.items():
            if other[0] != iteration:
                return other
        touch.writer = (iteration, place)
        return None

    def _touch(self, element: tuple[Cells, int]) -> Touch:
        touch = self.touched.get(element)
        if touch is None:
            touch = self.touched[element] = Touch()
        return touch


@dataclass(slots=True)
class Frame:
    """The state of execution: the variables in scope, the concurrent loops around it, and the current statement.

    `regions` has, for each concurrent loop around it, the elements that it touched and the current iteration.
    """

    vars: dict[Var, Value]
    views: dict[Buffer, View]
    regions: tuple[tuple[TouchedElements, int], ...] = ()
    place: str = ""

    def inside(self, region: TouchedElements, iteration: int) -> Frame:
        """Return a frame of its own for one iteration of a concurrent loop."""
        return Frame(dict(self.vars), dict(self.views), (*self.regions, (region, iteration)))

    def fault(self, kind: type[Fault], what: str) -> Fault:
        """Return an error that says where execution stands."""
        scope = ", ".join(f"{var.name} = {value}" for var, value in self.vars.items())
        return kind(f"{what}, in '{self.place}'", example=scope or None)

    def overflow(self, value: Value, dtype: DType) -> Fault:
        """Return the error that a value does not fit its dtype."""
        return self.fault(Overflow, f"{value} does not fit {dtype.value}")

    def read(self, view: View, indices: Sequence[int]) -> Value:
        """Return an element; it is a NumPy scalar."""
        cells, offset = view.cells, self._offset(view, indices)
        for region, iteration in self.regions[cells.depth :]:
            other = region.read((cells, offset), iteration, self.place)
            if other is not None:
                raise self._race(view, indices, region, iteration, other, "read")
        if not cells.written[offset]:
            raise self.fault(Undefined, f"{_element(view, indices)} is read and was never written")
        return cells.values[offset]

    def write(self, view: View, indices: Sequence[int], value: Value) -> None:
        """Set an element."""
        cells, offset = view.cells, self._offset(view, indices)
        for region, iteration in self.regions[cells.depth :]:
            other = region.write((cells, offset), iteration, self.place)
            if other is not None:
                raise self._race(view, indices, region, iteration, other, "written")
        cells.values[offset] = value
        cells.written[offset] = 1

    def _offset(self, view: View, indices: Sequence[int]) -> int:
        offset = 0
        for position, extent, stride in zip(indices, view.shape, view.strides, strict=True):
            if not 0 <= position < extent:
                raise self.fault(OutOfBounds, f"{_element(view, indices)} is outside its shape {view.shape}")
            offset += position * stride
        return offset

    def _race(
        self,
        view: View,
        indices: Sequence[int],
        region: TouchedElements,
        iteration: int,
        other: tuple[int, str],
        verb: str,
    ) -> Race:
        because = (
            f"{region.noun} {iteration} has {verb} what {region.noun} {other[0]} touches at the same time"
        )
        return Race(view.buffer.name, tuple(indices), (other[1], self.place), because)


def _element(view: View, indices: Sequence[int]) -> str:
    return f"{view.buffer.name}[{', '.join(str(i) for i in indices)}]"
