"""Running preludes: the tables of a batch's lengths, made once and kept for the same lengths."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from ragged.api.arguments import Key
from ragged.api.described import Described, DescribedTensor, Fixed, Order, Policy, Rule, Sized, Varying
from ragged.api.given import Given
from ragged.codegen.entry import Argument, ArgumentKind, Value
from ragged.compiled.kernel import LoadedKernel
from ragged.compiled.spin_time import spin_time_ns
from ragged.data import Lengths
from ragged.data.parts import checked_size
from ragged.data.space import Extents, Padding
from ragged.errors import DataError
from ragged.ir.expr import Function
from ragged.runtime.call import Caller, ResolvedShapes
from ragged.runtime.orders import dealt, longest_first
from ragged.runtime.sizes import shapes_of

Array = npt.NDArray[Any]
KEPT = 8
"""Batches of lengths whose tables are kept."""


@dataclass(frozen=True, slots=True)
class Stored:
    """How a result lies in memory: its extents, what they are padded to, and how many elements that makes."""

    extents: Extents
    padding: Padding
    size: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """What follows from a batch's lengths: the kernel's sizes and arrays by argument, and what a call makes.

    `results` are the ragged ones, by the outputs' own names. `flops` is how many operations on floats the operators do
    as they were written, `spin_ns` how many nanoseconds a call may wait for workers.
    """

    values: Mapping[str, Value]
    resolved: ResolvedShapes
    results: Mapping[str, Stored]
    flops: int
    spin_ns: int


class Preludes:
    """The preludes of one function: `of` runs them, or finds what they made of the same lengths before.

    Any number of threads may ask at once. `caller` is the kernel's; its last prelude counts the work.
    """

    def __init__(self, name: str, described: Described, kernel: LoadedKernel, caller: Caller) -> None:
        self._name, self._described, self._caller = name, described, caller
        steps = [_Step(Caller(list(entries.values()), {}), described) for entries in kernel.preludes]
        self._tables, self._work = steps[:-1], steps[-1]
        self._wanted = [each for each in caller.wanted if each.kind is not ArgumentKind.BUFFER]
        self._lengths = _LengthsRead(self._wanted, described)
        self._kept: OrderedDict[Key, Prepared] = OrderedDict()

    def of(self, key: Key, read: Callable[[], Given]) -> Prepared:
        """Return what follows from the lengths of a call; `read` checks its key, where that is a new one.

        Raises:
            DataError: a length or a size is not known, is negative, or lengths sum to too much; or as `read`.
        """
        found = self._kept.get(key)
        if found is None:
            found = self.prepare(read())
            self._kept[key] = found
            while len(self._kept) > KEPT:
                try:
                    self._kept.popitem(last=False)
                except KeyError:  # another thread was faster
                    break
        return found

    def prepare(self, given: Given) -> Prepared:
        """Return what follows from lengths, anew. Raises as `of` does."""
        known = _Known(self._name, given, self._described.orders, self._caller.workers)
        for step in self._tables:
            known.arrays |= step(known)
        for table, lengths, what in given.computed:
            if not np.array_equal(known.arrays[table], lengths):
                raise _computed_differs(what, lengths, known.arrays[table])
        self._lengths.check(known)
        (work,) = self._work(known).values()
        values = known.values(self._wanted)
        return Prepared(
            values,
            self._caller.resolve_shapes(values),
            {tensor.name: _stored(tensor, known) for tensor in self._described.outputs if tensor.varies},
            int(work[0]),
            spin_time_ns(int(work[1]), self._caller.workers),
        )


class _Known:
    """What is known of a batch: sizes and arrays by the names of their functions; `orders` are made when asked for."""

    def __init__(self, name: str, given: Given, orders: Sequence[Order], workers: int) -> None:
        self.name = name
        self._orders = {order.name: order for order in orders}
        self._workers = workers
        self.sizes = {size: value for size, (value, _) in given.sizes.items()}
        self.arrays = {array: values for array, (values, _) in given.lengths.items()}

    def values(self, wanted: Sequence[Argument]) -> dict[str, Value]:
        """Return arguments' values by the arguments' names; `DataError` if one is not known."""
        return {argument.name: self.value(argument.symbol.name) for argument in wanted}

    def value(self, name: str) -> Value:
        """Return a size or an array by the name that its function has."""
        for known in (name, f"{name}_table"):
            if known in self.arrays:
                return self.arrays[known]
        if name in self.sizes:
            return self.sizes[name]
        if name in self._orders:
            self.arrays[name] = self._ordered(self._orders[name])
            return self.arrays[name]
        raise DataError(
            f"{self.name}: '{name}' is not known",
            because="it is the extent of no argument",
            fix=f"give it by name: {self.name}(..., {name}=...)",
        )

    def _ordered(self, order: Order) -> Array:
        work = self.arrays[order.table]
        match order.policy:
            case Policy.DEALT:
                return dealt(work, self._workers)
            case Policy.LONGEST_FIRST:
                return longest_first(work)
            case _:
                assert_never(order.policy)


class _LengthsRead:
    """The arrays of lengths among arguments: as many of them have to be given as are read."""

    def __init__(self, wanted: Sequence[Argument], described: Described) -> None:
        read = [each for each in wanted if each.symbol.name in described.lengths]
        self._names = [each.symbol.name for each in read if isinstance(each.symbol, Function)]
        self._shapes = shapes_of([each.shape for each in read])

    def check(self, known: _Known) -> None:
        """Return if every array is as long as what its lengths are of; `DataError` otherwise."""
        needed = self._shapes.compute(*(known.value(each.name) for each in self._shapes.functions))
        for name, shape in zip(self._names, needed, strict=True):
            given = known.arrays[name].size if name in known.arrays else prod(shape)
            if given != prod(shape):
                raise DataError(f"{known.name}: '{name}' has {given} lengths, and {prod(shape)} are needed")


class _Step:
    """A prelude: fills the tables that its outputs are."""

    def __init__(self, caller: Caller, described: Described) -> None:
        self._caller = caller
        self._lengths = _LengthsRead(caller.wanted, described)

    def __call__(self, known: _Known) -> dict[str, Array]:
        self._lengths.check(known)
        return self._caller(known.values(self._caller.wanted))


def _stored(tensor: DescribedTensor, known: _Known) -> Stored:
    extents = tuple(_extent(rule, known) for rule in tensor.extents)
    return Stored(extents, tensor.padding, checked_size(extents, tensor.padding))


def _extent(rule: Rule, known: _Known) -> int | Lengths:
    match rule:
        case Fixed(extent=extent):
            return extent
        case Sized(size=size):
            return known.sizes[size]
        case Varying(over=(), array=name):  # a number that the prelude computes
            return int(known.arrays[name][0])
        case Varying(over=over, array=name):
            return Lengths(over, known.arrays[name])
        case _:
            assert_never(rule)


def _computed_differs(what: str, values: Array, wanted: Array) -> DataError:
    if len(values) != len(wanted):
        return DataError(f"{what} has {len(values)} lengths, not {len(wanted)}")
    if len(values) == 1:
        return DataError(f"{what} extends {int(values[0])}, not {int(wanted[0])}")
    row = int(np.argmax(values != wanted))
    return DataError(
        f"{what} is not as long as it has to be",
        example=f"row {row} is {int(values[row])} long, not {int(wanted[row])}",
    )
