"""Calling compiled stages with little of Python: what does not change between calls is prepared once.

A call's work in Python is proportional to the program's arguments, not to its nodes, levels or operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ctypes import c_void_p
from dataclasses import dataclass
from math import prod
from time import perf_counter_ns
from typing import Any

import numpy as np

from ragged.codegen.entry import Argument, ArgumentKind, Entry, Value, marshal
from ragged.errors import DataError, InternalError
from ragged.ir.expr import Buffer, Role
from ragged.ir.program import StageKind
from ragged.runtime.memory import (
    ALIGN,
    Array,
    BlockPool,
    aligned_empty,
    as_aligned,
    placed_empty,
    raw_address,
)
from ragged.runtime.sizes import Shape, shapes_of


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument's place among all, and what a call asks of it, at hand: its name, and its elements' dtype."""

    place: int
    name: str
    dtype: np.dtype[Any]
    argument: Argument


_ONE_WORKER = (0, 1)
"""The worker's number, and how many there are: the only team until there is a resident one."""


class Caller:
    """The stages of one call, in order, with parameters bound.

    `bound` are arguments by name that stay for good: parameters, bound tables, sizes that never change. Each call
    gives the other sizes, functions' arrays and payloads; it makes the outputs, which the caller owns, and takes
    workspaces from a pool. Any number of threads may call one `Caller`.
    """

    def __init__(self, entries: Sequence[Entry], bound: Mapping[str, Value]) -> None:
        if not entries:
            raise InternalError("a call of no stages")
        self.entries = tuple(entries)
        self._bound = _aligned(bound)
        signature = entries[0].arguments
        unknown = set(bound).difference(argument.name for argument in signature)
        if unknown:
            raise InternalError(f"no arguments are named {', '.join(sorted(unknown))}")
        self._template: list[Any] = [
            marshal(argument, self._bound.get(argument.name)) for argument in signature
        ]
        self._sort([Slot(place, a.name, a.dtype.numpy, a) for place, a in enumerate(signature)])
        self._pool = BlockPool(max(entry.status_words for entry in entries))

    def _sort(self, slots: list[Slot]) -> None:
        def of_role(role: Role) -> list[Slot]:
            buffers = ((slot, slot.argument.symbol) for slot in slots)
            return [slot for slot, symbol in buffers if isinstance(symbol, Buffer) and symbol.role is role]

        self._sizes = [slot for slot in slots if slot.argument.kind is ArgumentKind.SIZE]
        self._outputs, self._workspaces = of_role(Role.OUTPUT), of_role(Role.WORKSPACE)
        made = {slot.name for slot in (*self._sizes, *self._outputs, *self._workspaces)}
        self._given = [slot for slot in slots if slot.name not in made and slot.name not in self._bound]
        shapes = shapes_of([slot.argument.shape for slot in (*self._outputs, *self._workspaces)])
        names = {slot.argument.symbol: slot.name for slot in slots}
        self._shape_names = [names[function] for function in shapes.functions]
        self._shapes = shapes.compute
        axes = ((slot.name, _transposition(slot.argument)) for slot in self._outputs)
        self._axes = {name: order for name, order in axes if order is not None}

    @property
    def wanted(self) -> tuple[Argument, ...]:
        """The arguments that each call has to give, in order."""
        sizes = (slot.argument for slot in self._sizes if slot.name not in self._bound)
        return (*sizes, *(slot.argument for slot in self._given))

    def __call__(self, values: Mapping[str, Value]) -> dict[str, Array]:
        """Run the stages on `values`, the `wanted` arguments by name, and return the outputs by name.

        Arrays have the argument's dtype and are C-contiguous; they are read in place. The outputs have the program's
        shapes; one that is stored in another order of dimensions is a transposed view of its memory.

        Raises:
            DataError: an array is not as it should be.
            CheckFailed: a check of the program does not hold. A `DataError` too.
        """
        return self._call(values, lambda entry, args: entry.function(*args))

    def timed(self, values: Mapping[str, Value]) -> dict[StageKind, int]:
        """Run the stages on `values` and return the nanoseconds that each of them took. Raises as a call does."""
        times = {}

        def run(entry: Entry, args: list[Any]) -> None:
            begin = perf_counter_ns()
            entry.function(*args)
            times[entry.kind] = perf_counter_ns() - begin

        self._call(values, run)
        return times

    def _call(self, values: Mapping[str, Value], run: Callable[[Entry, list[Any]], None]) -> dict[str, Array]:
        args = self._template.copy()
        for slot in self._sizes:
            if slot.name in values:
                args[slot.place] = int(values[slot.name])
        for slot in self._given:
            args[slot.place] = _pointer(slot, values[slot.name])
        known = [values[name] if name in values else self._bound[name] for name in self._shape_names]
        shapes = self._shapes(*known)
        outputs = {}
        for slot, shape in zip(self._outputs, shapes, strict=False):
            outputs[slot.name], address = placed_empty(shape, slot.dtype)
            args[slot.place] = c_void_p(address)
        self._run(args, shapes[len(self._outputs) :], run)
        for name, axes in self._axes.items():
            outputs[name] = outputs[name].transpose(axes)
        return outputs

    def _run(
        self, args: list[Any], shapes: tuple[Shape, ...], run: Callable[[Entry, list[Any]], None]
    ) -> None:
        sizes = [
            prod(shape) * slot.dtype.itemsize for slot, shape in zip(self._workspaces, shapes, strict=True)
        ]
        block = self._pool.take(sum(sizes) + ALIGN * len(sizes))
        try:
            address = block.address
            for slot, size in zip(self._workspaces, sizes, strict=True):
                args[slot.place] = c_void_p(address)
                address += -(-size // ALIGN) * ALIGN
            args += (block.pointer, *_ONE_WORKER)
            for entry in self.entries:
                run(entry, args)
                if block.words[0]:
                    raise entry.failure(block.words)
        finally:
            self._pool.give(block)


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


def _aligned(values: Mapping[str, Value]) -> dict[str, Value]:
    return {
        name: as_aligned(value) if isinstance(value, np.ndarray) else value for name, value in values.items()
    }


def _pointer(slot: Slot, value: Value) -> c_void_p:
    """Return the address of an array that a call gives, after a quick look; `marshal` says what is wrong with it."""
    if isinstance(value, np.ndarray) and value.dtype == slot.dtype and value.flags.carray:
        return c_void_p(raw_address(value))
    pointer = marshal(slot.argument, value)
    if not isinstance(pointer, c_void_p):
        raise DataError(f"'{slot.name}': {slot.argument.dtype.value} array expected, not {value!r}")
    return pointer


def _transposition(argument: Argument) -> tuple[int, ...] | None:
    """Return the axes that turn a buffer's storage into its own order of dimensions, or None if they agree."""
    assert isinstance(argument.symbol, Buffer)
    order = argument.symbol.order
    return None if order == tuple(range(len(order))) else tuple(order.index(d) for d in range(len(order)))
