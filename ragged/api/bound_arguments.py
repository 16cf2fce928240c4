"""Running preludes: the tables of a batch's lengths, computed once and cached by lengths."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, assert_never

import numpy as np
import numpy.typing as npt

from ragged.api.inputs import InputLengths, Key
from ragged.api.observed import Sizes
from ragged.api.signature import (
    Derived,
    Fixed,
    Order,
    Policy,
    RaggedSignature,
    Rule,
    Sized,
    TensorSpec,
    Varying,
)
from ragged.codegen.entry import Argument, ArgumentKind, Value
from ragged.compiled.parts import CompiledParts
from ragged.compiled.sizes import Affine
from ragged.compiled.spin_time import spin_time_ns
from ragged.data import Lengths
from ragged.data.parts import checked_size
from ragged.data.space import Extents, Padding
from ragged.errors import DataError, InternalError
from ragged.ir.expr import Function
from ragged.runtime.call import Caller, ResolvedShapes
from ragged.runtime.orders import dealt, longest_first, share_begins
from ragged.runtime.sizes import Shape, shapes_of

Array = npt.NDArray[Any]
CACHED_BATCHES, CACHED_SHAPES = 8, 512
"""How many of the last batches of lengths have cached tables, and how many shapes of functions without lengths."""


@dataclass(frozen=True, slots=True)
class ResultLayout:
    """The extents of a result, their padding, and the number of stored elements."""

    extents: Extents
    padding: Padding
    size: int


class BoundArguments(NamedTuple):
    """Values that follow from a batch's lengths: sizes and arrays of the kernel by argument, and shapes of a call.

    `shapes` are those of the results in the order of the kernel's caller. `ordered` are the values in the order of its
    arguments, with None in place of inputs; `sizes` are all sizes by name. `results` are the layouts of ragged results
    by name. `flops` are the operations on floats of the operators as written, `spin_ns` is the spin time of a call.
    """

    values: Mapping[str, Value]
    shapes: tuple[Shape, ...]
    ordered: list[Any]
    sizes: Sizes
    resolved: ResolvedShapes
    results: Mapping[str, ResultLayout]
    flops: int
    spin_ns: int


class PreludeCache:
    """Runs the preludes of one function, and caches their results; any number of threads may use it.

    `caller` is the kernel's; the last prelude counts the work.
    """

    def __init__(self, parts: CompiledParts[RaggedSignature], caller: Caller) -> None:
        signature, kernel = parts.signature, parts.kernel
        self._signature, self._workers, self._caller = signature, parts.workers, caller
        steps = [_Prelude(prelude, signature) for prelude in kernel.prelude_callers()]
        self._tables, self._work = steps[:-1], steps[-1]
        self._wanted = [each for each in caller.wanted if each.kind is not ArgumentKind.BUFFER]
        self._lengths = _LengthsCheck(self._wanted, signature)
        self._order = tuple(argument.name for argument in caller.wanted)
        self._ragged = [tensor for tensor in signature.outputs if tensor.varies]
        self._most = CACHED_BATCHES if signature.lengths else CACHED_SHAPES
        self._cache: OrderedDict[Key, BoundArguments] = OrderedDict()

    def find(self, key: Key, read: Callable[[], InputLengths]) -> BoundArguments:
        """Return the bound arguments of a call; `read` reads and checks its lengths for a new key.

        Raises:
            DataError: a length or a size is not known, is negative, or lengths sum to too much; or as `read`.
        """
        found = self._cache.get(key)
        if found is None:
            found = self.compute(read())
            self._cache[key] = found
        try:  # another thread may be faster
            self._cache.move_to_end(key)
            while len(self._cache) > self._most:
                self._cache.popitem(last=False)
        except KeyError:
            pass
        return found

    def compute(self, inputs: InputLengths) -> BoundArguments:
        """Run the preludes on lengths. Raises as `find` does."""
        known = _Known(self._signature, inputs, self._workers)
        for step in self._tables:
            known.arrays |= step(known)
        for table, lengths, what in inputs.computed:
            if not np.array_equal(known.arrays[table], lengths):
                raise _computed_differs(what, lengths, known.arrays[table])
        self._lengths.check(known)
        ((flops, cost),) = (work.tolist() for work in self._work(known).values())
        values = known.values(self._wanted)
        resolved = self._caller.resolve_shapes(values)
        self._check_shapes(resolved)
        return BoundArguments(
            values,
            self._caller.seen(resolved[0]),
            [values.get(name) for name in self._order],
            tuple(known.sizes.items()),
            resolved,
            {tensor.name: _result_layout(tensor, known) for tensor in self._ragged},
            flops,
            spin_time_ns(cost, self._workers),
        )

    def _check_shapes(self, resolved: ResolvedShapes) -> None:
        """Raise `DataError` for a result with a negative extent, or with more elements than memory has addresses."""
        name = self._signature.name
        for own, shape in zip(self._caller.outputs, resolved[0], strict=True):
            if min(shape, default=0) < 0:
                raise DataError(f"{name}: '{own}' would have the shape {shape}, and no extent is negative")
            if prod(shape) >= _MOST_ELEMENTS:
                raise DataError(f"{name}: '{own}' would have the shape {shape}, of more than 2^60 elements")


_MOST_ELEMENTS = 2**60


class _Known:
    """Sizes and arrays of a batch by the names of their functions; orders and shares are computed on demand."""

    def __init__(self, signature: RaggedSignature, inputs: InputLengths, workers: int) -> None:
        self.name = signature.name
        self._signature = signature
        self._orders = {order.name: order for order in signature.orders}
        self._shares = {table.name: table for table in signature.shares}
        self._counts = {table.count for table in signature.shares}
        self._workers = workers
        self.sizes = {size: value for size, (value, _) in inputs.sizes.items()}
        self.arrays = {array: values for array, (values, _) in inputs.lengths.items()}

    def values(self, wanted: Sequence[Argument]) -> dict[str, Value]:
        """Return arguments' values by the arguments' names; `DataError` if one is not known."""
        return {argument.name: self.value(argument.symbol.name) for argument in wanted}

    def value(self, name: str) -> Value:
        """Return a size or an array by the name that its function has."""
        if name in self.sizes:
            return self.sizes[name]
        for known in (name, f"{name}_table"):
            if known in self.arrays:
                return self.arrays[known]
        if name in self._orders:
            self.arrays[name] = self._ordered(self._orders[name])
            return self.arrays[name]
        if name in self._shares:
            self.arrays[name] = share_begins(self.arrays[self._shares[name].table], self._workers)
            return self.arrays[name]
        if name in self._counts:
            return self._workers
        if name not in (*self._signature.sizes, *self._signature.lengths):
            raise DataError(
                f"{self.name}: nothing gives the values of '{name}'",
                because="a step of its schedule declared it",
                fix="Schedule.balance or Schedule.remap in the place of that step",
            )
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


class _LengthsCheck:
    """The arrays of lengths among arguments: they must have as many elements as are read."""

    def __init__(self, wanted: Sequence[Argument], signature: RaggedSignature) -> None:
        read = [each for each in wanted if each.symbol.name in signature.lengths]
        self._names = [each.symbol.name for each in read if isinstance(each.symbol, Function)]
        self._shapes = shapes_of([each.shape for each in read])

    def check(self, known: _Known) -> None:
        """Raise `DataError` unless each array has a length for each row."""
        if not self._names:
            return
        needed = self._shapes.compute(*(known.value(each.name) for each in self._shapes.functions))
        for name, shape in zip(self._names, needed, strict=True):
            size = known.arrays[name].size if name in known.arrays else prod(shape)
            if size != prod(shape):
                raise DataError(f"{known.name}: '{name}' has {size} lengths, and {prod(shape)} are needed")


class _Prelude:
    """A prelude program, which fills the tables that are its outputs."""

    def __init__(self, caller: Caller, signature: RaggedSignature) -> None:
        self._caller = caller
        self._names = [argument.symbol.name for argument in caller.wanted]
        self._lengths = _LengthsCheck(caller.wanted, signature)

    def __call__(self, known: _Known) -> dict[str, Array]:
        self._lengths.check(known)
        arrays = self._caller.run([known.value(name) for name in self._names])
        return dict(zip(self._caller.outputs, arrays, strict=True))


def _result_layout(tensor: TensorSpec, known: _Known) -> ResultLayout:
    extents = tuple(_extent(rule, known) for rule in tensor.extents)
    return ResultLayout(extents, tensor.padding, checked_size(extents, tensor.padding))


def _extent(rule: Rule, known: _Known) -> int | Lengths:
    match rule:
        case Fixed(extent=extent):
            return extent
        case Sized(size=size):
            return known.sizes[size]
        case Affine() as affine:
            return affine.at(known.sizes)
        case Derived():
            raise InternalError(f"{known.name}: a ragged result has an extent without a rule")
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
