"""Calls of compiled stages: arguments are bound once, and each call is one native step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import c_void_p
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ragged.codegen.entry import Argument, ArgumentKind, CompiledCheckFailed, Entry, Value, marshal
from ragged.errors import DataError, InternalError
from ragged.ir.expr import Buffer, Function, Role
from ragged.ir.program import StageKind
from ragged.runtime import team
from ragged.runtime.memory import ALIGN, Array, aligned_empty, as_aligned
from ragged.runtime.sizes import Shape, call_shapes, shapes_of

ResolvedShapes: TypeAlias = tuple[tuple[Shape, ...], tuple[int, ...]]
"""The outputs' shapes, and the bytes of each workspace, of one call."""


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument, with its position among all arguments."""

    place: int
    name: str
    dtype: np.dtype[Any]
    argument: Argument


class Caller:
    """The stages of one call, in order, with parameters bound. Any number of threads may call it.

    `bound` are arguments by name that never change: parameters, bound tables, constant sizes. Each call gives the other
    sizes, functions' arrays and payloads; it allocates the outputs, which the caller owns, and reuses workspaces.
    `workers` is the most workers of a stage with a team loop; None is one for each core. `outputs` are the names of the
    outputs in the order of `run`'s result. Signal handlers run when the stages are done: a call is one native step.
    """

    def __init__(
        self, entries: Sequence[Entry], bound: Mapping[str, Value], *, workers: int | None = 1
    ) -> None:
        if not entries:
            raise InternalError("a call of no stages")
        self.entries = tuple(entries)
        self.workers = team.check_workers(workers)
        self._bound = _aligned(bound)
        signature = entries[0].arguments
        unknown = set(bound).difference(argument.name for argument in signature)
        if unknown:
            raise InternalError(f"no arguments are named {', '.join(sorted(unknown))}")
        slots = [Slot(place, a.name, a.dtype.numpy, a) for place, a in enumerate(signature)]
        outputs, workspaces = _of_role(slots, Role.OUTPUT), _of_role(slots, Role.WORKSPACE)
        self._sizes = [slot for slot in slots if slot.argument.kind is ArgumentKind.SIZE]
        made = {slot.name for slot in (*self._sizes, *outputs, *workspaces)}
        self._inputs = [slot for slot in slots if slot.name not in made and slot.name not in self._bound]
        self._wanted = [*(slot for slot in self._sizes if slot.name not in self._bound), *self._inputs]
        self._names = tuple(slot.name for slot in self._wanted)
        self._frame = self._prepare(outputs, workspaces)
        self._prepare_shapes(outputs, workspaces)
        self._axes = tuple(_transposition(slot.argument) for slot in outputs)
        self._transposed = any(axes is not None for axes in self._axes)
        self.outputs = tuple(slot.name for slot in outputs)

    def _prepare(self, outputs: list[Slot], workspaces: list[Slot]) -> team.Frame:
        """Return the native frame. It must not refer to this object: native cycles are never collected."""
        signature, entries = self.entries[0].arguments, self.entries
        return team.frame(
            [*(_number(marshal(argument, self._bound.get(argument.name))) for argument in signature), 0],
            team.kinds_of(signature),
            max(entry.status_words for entry in entries),
            [slot.place for slot in self._wanted if slot.argument.kind is ArgumentKind.SIZE],
            [(slot.place, _format(slot.dtype)) for slot in self._inputs],
            [(slot.place, slot.dtype, slot.dtype.itemsize) for slot in outputs],
            [slot.place for slot in workspaces],
            [(team.address_of(entry), self.workers if entry.team else 1) for entry in entries],
            partial(_pointer, self._inputs),
            (entries, self._bound),
        )

    def _prepare_shapes(self, outputs: list[Slot], workspaces: list[Slot]) -> None:
        entry = self.entries[0]
        names = {a.symbol: a.name for a in entry.arguments if isinstance(a.symbol, Function)}
        known = {symbol: self._bound[name] for symbol, name in names.items() if name in self._bound}
        if entry.workers is not None:
            known[entry.workers] = self.workers
        layout = call_shapes(
            [slot.argument.shape for slot in outputs],
            [(slot.argument.shape, slot.dtype.itemsize) for slot in workspaces],
            known,
            ALIGN,
        )
        self._resolve = layout.compute
        self._resolve_places = tuple(self._names.index(names[function]) for function in layout.functions)

    @property
    def wanted(self) -> tuple[Argument, ...]:
        """The arguments that each call has to give, in order."""
        return tuple(slot.argument for slot in self._wanted)

    @property
    def idle_memory(self) -> tuple[int, int]:
        """The number of idle memory blocks, and their bytes."""
        return team.blocks(self._frame)

    def resolve_shapes(self, values: Mapping[str, Value]) -> ResolvedShapes:
        """Return the shapes of a call on `values`, which depend on sizes and functions' arrays alone."""
        return self._resolve(*[values[self._names[place]] for place in self._resolve_places])

    def seen(self, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        """Return the outputs' shapes in their own order of dimensions, from those in memory."""
        if not self._transposed:
            return tuple(shapes)
        pairs = zip(shapes, self._axes, strict=True)
        return tuple(shape if axes is None else tuple(shape[d] for d in axes) for shape, axes in pairs)

    def __call__(
        self,
        values: Mapping[str, Value],
        *,
        spin_ns: int = team.SPIN_NS,
        resolved: ResolvedShapes | None = None,
    ) -> dict[str, Array]:
        """Run the stages on `values`, the `wanted` arguments by name, and return the outputs by name.

        The rest is as `run` says.
        """
        arrays = self.run([values[name] for name in self._names], spin_ns=spin_ns, resolved=resolved)
        return dict(zip(self.outputs, arrays, strict=True))

    def run(
        self,
        values: Sequence[Value],
        *,
        spin_ns: int = team.SPIN_NS,
        resolved: ResolvedShapes | None = None,
        out: Sequence[Array | None] | None = None,
    ) -> tuple[Array, ...]:
        """Run the stages on `values`, the `wanted` arguments in their order, and return the `outputs` in theirs.

        `spin_ns` is how long the call may wait for sleeping workers, in nanoseconds: with 0 it has one worker, with a
        second or more it waits for all. `resolved` is the result of `resolve_shapes` for these sizes and arrays. `out`
        has for each output an array to write it into, or None: writable, C-contiguous, aligned to its elements, of the
        output's dtype and shape.

        Arrays have the argument's dtype, are C-contiguous, and are read in place. An output that is stored in another
        order of dimensions is a transposed view of its memory.

        Raises:
            DataError: an array has another dtype, shape or layout.
            CompiledCheckFailed: a check of the program fails. A `DataError` too.
        """
        return self._call(values, spin_ns, None, resolved, out)

    def timed(self, values: Mapping[str, Value], *, spin_ns: int = team.SPIN_NS) -> dict[StageKind, int]:
        """Run the stages as a call does and return the nanoseconds that each of them took. Raises as a call does."""
        times: list[tuple[int, int]] = []
        self._call([values[name] for name in self._names], spin_ns, times, None)
        return {entry.kind: time for entry, (time, _) in zip(self.entries, times, strict=True)}

    def _call(
        self,
        values: Sequence[Value],
        spin_ns: int,
        times: list[tuple[int, int]] | None,
        resolved: ResolvedShapes | None,
        out: Sequence[Array | None] | None = None,
    ) -> tuple[Array, ...]:
        shapes, sizes = resolved or self._resolve(*[values[place] for place in self._resolve_places])
        places = shapes if out is None else self._places(shapes, out)
        try:
            arrays = team.call(self._frame, values, places, sizes, spin_ns, times)
        except team.Failed as failed:
            raise self._failure(*failed.args) from None
        if not self._transposed:
            return arrays
        seen = tuple(
            array if axes is None else array.transpose(axes)
            for axes, array in zip(self._axes, arrays, strict=True)
        )
        return seen if out is None else tuple(map(_copied, seen, out))

    def _places(self, shapes: Sequence[Shape], out: Sequence[Array | None]) -> tuple[Shape | Array, ...]:
        """Return for each output its array, if it is stored in its own order of dimensions, or its shape."""
        each = zip(shapes, self._axes, out, strict=True)
        return tuple(shape if axes or own is None else own for shape, axes, own in each)

    def _failure(self, stage: int, words: bytes) -> CompiledCheckFailed:
        return self.entries[stage].failure(np.frombuffer(words, np.int64))


def bind(entries: Mapping[StageKind, Entry], parameters: Mapping[str, Value]) -> dict[str, Value]:
    """Run the bind stage, if there is one, and return `parameters` with the bound tables that it fills.

    `parameters` are arrays and sizes by name. The result is what a `Caller` takes as `bound`. Raises as a call does.
    """
    bound = _aligned(parameters)
    entry = entries.get(StageKind.BIND)
    if entry is None:
        return bound
    tables = [a for a in entry.arguments if isinstance(a.symbol, Buffer) and a.symbol.role is Role.BOUND]
    shapes = shapes_of([table.shape for table in tables])
    names = {a.symbol: a.name for a in entry.arguments}
    values = (bound[names[function]] for function in shapes.functions)
    for table, shape in zip(tables, shapes.compute(*values), strict=True):
        bound[table.name] = aligned_empty(shape, table.dtype.numpy)
    entry(bound)
    return bound


def _copied(array: Array, own: Array | None) -> Array:
    """Return an output in the array that the caller has for it, if there is one."""
    if own is None or own is array:
        return array
    own[...] = array
    return own


def _aligned(values: Mapping[str, Value]) -> dict[str, Value]:
    return {
        name: as_aligned(value) if isinstance(value, np.ndarray) else value for name, value in values.items()
    }


def _format(dtype: np.dtype[Any]) -> str:
    """Return the buffer protocol's format of a dtype; of bfloat16, which has none, a character that is none either."""
    if dtype.kind == "V":
        return dtype.char
    example: Any = np.empty(0, dtype)
    return memoryview(example).format


def _of_role(slots: list[Slot], role: Role) -> list[Slot]:
    buffers = ((slot, slot.argument.symbol) for slot in slots)
    return [slot for slot, symbol in buffers if isinstance(symbol, Buffer) and symbol.role is role]


def _number(argument: int | c_void_p | None) -> int:
    """Return a marshalled argument as a number: an address, 0 for null."""
    return (argument.value if isinstance(argument, c_void_p) else argument) or 0


def _pointer(inputs: Sequence[Slot], index: int, value: Any) -> int:
    """Return the address of an array that the native fast path rejects; `marshal` raises if it cannot be read."""
    slot = inputs[index]
    pointer = marshal(slot.argument, value)
    if not isinstance(pointer, c_void_p):
        raise DataError(f"'{slot.name}': {slot.argument.dtype.value} array expected, not {value!r}")
    return _number(pointer)


def _transposition(argument: Argument) -> tuple[int, ...] | None:
    """Return the axes that turn a buffer's storage into its own order of dimensions, or None if they agree."""
    assert isinstance(argument.symbol, Buffer)
    order = argument.symbol.order
    return None if order == tuple(range(len(order))) else tuple(order.index(d) for d in range(len(order)))
