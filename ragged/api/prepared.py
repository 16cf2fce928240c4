"""Running preludes: the tables of a batch's lengths, made once and kept for the same lengths."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from ragged.api.arguments import Given
from ragged.api.described import Described, DescribedTensor, Fixed, Rule, Sized, Varying
from ragged.codegen.entry import Argument, ArgumentKind, Entry, Value
from ragged.data import Lengths
from ragged.errors import DataError
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller

Array = npt.NDArray[Any]
KEPT = 8
"""Batches of lengths whose tables are kept."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What follows from a batch's lengths: the kernel's sizes and arrays by argument, and how far results extend."""

    values: Mapping[str, Value]
    sizes: Mapping[str, int]
    arrays: Mapping[str, Array]
    results: Mapping[str, tuple[int | Lengths, ...]]

    def extents(self, tensor: DescribedTensor) -> tuple[int | Lengths, ...]:
        """Return how far a result extends in each dimension."""
        return self.results[tensor.name]


class Preludes:
    """The preludes of one function: `of` runs them, or finds what they made of the same lengths before.

    Any number of threads may ask at once. `wanted` are the arguments of the kernel.
    """

    def __init__(
        self,
        name: str,
        described: Described,
        preludes: Sequence[Mapping[StageKind, Entry]],
        wanted: Sequence[Argument],
    ) -> None:
        self._name, self._described = name, described
        self._callers = [Caller(list(entries.values()), {}) for entries in preludes]
        self._wanted = [argument for argument in wanted if argument.kind is not ArgumentKind.BUFFER]
        self._kept: OrderedDict[tuple[object, ...], Prepared] = OrderedDict()

    def of(self, given: Given) -> Prepared:
        """Return what follows from the lengths of a call.

        Raises:
            DataError: a length or a size is not known, is negative, or lengths sum to too much.
        """
        key = given.key()
        found = self._kept.get(key)
        if found is None:
            found = self._prepare(given)
            self._kept[key] = found
            while len(self._kept) > KEPT:
                try:
                    self._kept.popitem(last=False)
                except KeyError:  # another thread was faster
                    break
        return found

    def _prepare(self, given: Given) -> Prepared:
        sizes = {name: size for name, (size, _) in given.sizes.items()}
        arrays = {name: _as_int32(self._name, name, values) for name, (values, _) in given.lengths.items()}
        for caller in self._callers:
            tables = caller({a.name: self._value(a.symbol.name, sizes, arrays) for a in caller.wanted})
            arrays |= {name: tables[name] for name in tables}
        for table, values, what in given.computed:
            if not np.array_equal(arrays[table], values):
                raise _computed_differs(what, values, arrays[table])
        found = {a.name: self._value(a.symbol.name, sizes, arrays) for a in self._wanted}
        results = {
            tensor.name: tuple(_extent(rule, sizes, arrays) for rule in tensor.extents)
            for tensor in self._described.outputs
        }
        return Prepared(found, sizes, arrays, results)

    def _value(self, name: str, sizes: Mapping[str, int], arrays: Mapping[str, Array]) -> Value:
        """Return a size or an array by the name that its function has."""
        for known in (name, f"{name}_table"):
            if known in arrays:
                return arrays[known]
        if name in sizes:
            return sizes[name]
        raise DataError(
            f"{self._name}: '{name}' is not known",
            because="it is the extent of no argument",
            fix=f"give it by name: {self._name}(..., {name}=...)",
        )


def _extent(rule: Rule, sizes: Mapping[str, int], arrays: Mapping[str, Array]) -> int | Lengths:
    match rule:
        case Fixed(extent=extent):
            return extent
        case Sized(size=size):
            return sizes[size]
        case Varying(over=over, array=name):
            return Lengths(over, arrays[name])
        case _:
            assert_never(rule)


def _as_int32(function: str, name: str, values: Array) -> Array:
    return np.ascontiguousarray(values, np.int32)


def _computed_differs(what: str, values: Array, wanted: Array) -> DataError:
    if len(values) != len(wanted):
        return DataError(f"{what} has {len(values)} lengths, not {len(wanted)}")
    row = int(np.argmax(values != wanted))
    return DataError(
        f"{what} is not as long as it has to be",
        example=f"row {row} is {int(values[row])} long, not {int(wanted[row])}",
    )
