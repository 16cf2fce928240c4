"""Calling compiled stages with little of Python: what does not change between calls is prepared once.

A call's work in Python is proportional to the program's arguments, not to its nodes, levels or operators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import c_void_p
from dataclasses import dataclass
from math import prod
from time import perf_counter_ns
from typing import Any

import numpy as np

from ragged.codegen.entry import Argument, ArgumentKind, Entry, Value, marshal
from ragged.errors import DataError, InternalError
from ragged.ir.expr import Buffer, Function, Role
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
from ragged.runtime.team import PATIENCE_NS, Runner, check_workers


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument's place among all, and what a call asks of it, at hand: its name, and its elements' dtype."""

    place: int
    name: str
    dtype: np.dtype[Any]
    argument: Argument


class Caller:
    """The stages of one call, in order, with parameters bound.

    `bound` are arguments by name that stay for good: parameters, bound tables, sizes that never change. Each call
    gives the other sizes, functions' arrays and payloads; it makes the outputs, which the caller owns, and takes
    workspaces from a pool. Any number of threads may call one `Caller`.

    `workers` is the most workers that a stage with a team's loop runs with, by default one; None is as many as this
    process may use cores. See `ragged.runtime.team`.
    """

    def __init__(
        self, entries: Sequence[Entry], bound: Mapping[str, Value], *, workers: int | None = 1
    ) -> None:
        if not entries:
            raise InternalError("a call of no stages")
        self.entries = tuple(entries)
        self.workers = check_workers(workers)
        self._runners = tuple((entry, Runner(entry, self.workers)) for entry in entries)
        self._bound = _aligned(bound)
        signature = entries[0].arguments
        unknown = set(bound).difference(argument.name for argument in signature)
        if unknown:
            raise InternalError(f"no arguments are named {', '.join(sorted(unknown))}")
        self._template = [
            _number(marshal(argument, self._bound.get(argument.name))) for argument in signature
        ]
        self._team_size = entries[0].workers
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
        self._shape_names = [self._name(function, names) for function in shapes.functions]
        self._shapes = shapes.compute
        axes = ((slot.name, _transposition(slot.argument)) for slot in self._outputs)
        self._axes = {name: order for name, order in axes if order is not None}

    def _name(self, function: Function, names: Mapping[Function | Buffer, str]) -> str:
        """Return by what name a call finds the value of a function; the number of workers is bound here."""
        if function is not self._team_size:
            return names[function]
        name = f"{function.name} of the team"
        self._bound[name] = self.workers
        return name

    @property
    def wanted(self) -> tuple[Argument, ...]:
        """The arguments that each call has to give, in order."""
        sizes = (slot.argument for slot in self._sizes if slot.name not in self._bound)
        return (*sizes, *(slot.argument for slot in self._given))

    def __call__(self, values: Mapping[str, Value], *, patience: int = PATIENCE_NS) -> dict[str, Array]:
        """Run the stages on `values`, the `wanted` arguments by name, and return the outputs by name.

        `patience` is how many nanoseconds the call may wait for workers who sleep: what it gains by having them. With
        none it has one worker.

        Arrays have the argument's dtype and are C-contiguous; they are read in place. The outputs have the program's
        shapes; one that is stored in another order of dimensions is a transposed view of its memory.

        Raises:
            DataError: an array is not as it should be.
            CheckFailed: a check of the program does not hold. A `DataError` too.
        """
        return self._call(values, patience, None)

    def timed(self, values: Mapping[str, Value], *, patience: int = PATIENCE_NS) -> dict[StageKind, int]:
        """Run the stages as a call does and return the nanoseconds that each of them took. Raises as a call does."""
        times: dict[StageKind, int] = {}
        self._call(values, patience, times)
        return times

    def _call(
        self, values: Mapping[str, Value], patience: int, times: dict[StageKind, int] | None
    ) -> dict[str, Array]:
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
            args[slot.place] = address
        self._run(args, shapes[len(self._outputs) :], patience, times)
        for name, axes in self._axes.items():
            outputs[name] = outputs[name].transpose(axes)
        return outputs

    def _run(
        self,
        args: list[int],
        shapes: tuple[Shape, ...],
        patience: int,
        times: dict[StageKind, int] | None,
    ) -> None:
        sizes = [
            prod(shape) * slot.dtype.itemsize for slot, shape in zip(self._workspaces, shapes, strict=True)
        ]
        block = self._pool.take(sum(sizes) + ALIGN * len(sizes))
        try:
            address = block.address
            for slot, size in zip(self._workspaces, sizes, strict=True):
                args[slot.place] = address
                address += -(-size // ALIGN) * ALIGN
            args.append(block.pointer)
            for entry, runner in self._runners:
                begin = 0 if times is None else perf_counter_ns()
                runner.run(args, patience)
                if times is not None:
                    times[entry.kind] = perf_counter_ns() - begin
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


def _number(argument: int | c_void_p | None) -> int:
    """Return a marshalled argument as a number: an address, 0 for null."""
    return (argument.value if isinstance(argument, c_void_p) else argument) or 0


def _pointer(slot: Slot, value: Value) -> int:
    """Return the address of an array that a call gives, after a quick look; `marshal` says what is wrong with it."""
    if isinstance(value, np.ndarray) and value.dtype == slot.dtype and value.flags.carray:
        return raw_address(value)
    pointer = marshal(slot.argument, value)
    if not isinstance(pointer, c_void_p):
        raise DataError(f"'{slot.name}': {slot.argument.dtype.value} array expected, not {value!r}")
    return _number(pointer)


def _transposition(argument: Argument) -> tuple[int, ...] | None:
    """Return the axes that turn a buffer's storage into its own order of dimensions, or None if they agree."""
    assert isinstance(argument.symbol, Buffer)
    order = argument.symbol.order
    return None if order == tuple(range(len(order))) else tuple(order.index(d) for d in range(len(order)))
