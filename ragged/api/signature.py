"""The signature of a compiled ragged function, as data without expressions of the Ragged API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

import msgspec

from ragged.compiled.signature import Signature, names_of
from ragged.compiled.sizes import Affine
from ragged.ir.dtype import DType
from ragged.ir.expr import Role
from ragged.runtime.executable import Executable


class Fixed(msgspec.Struct, frozen=True, tag=True):
    """An extent that is a number."""

    extent: int


class Sized(msgspec.Struct, frozen=True, tag=True):
    """An extent that is a size, known at the call."""

    size: str


class Varying(msgspec.Struct, frozen=True, tag=True):
    """An extent for each index of the dimensions `over`, in row-major order.

    `array` is the name of the lengths, which a call gives (`given`) or the prelude computes. Without dimensions `over`
    it is one number that the prelude computes from sizes.
    """

    over: tuple[int, ...]
    array: str
    given: bool


class Derived(msgspec.Struct, frozen=True, tag=True):
    """An extent of a dense result that the code computes from sizes."""


Rule = Fixed | Sized | Affine | Varying | Derived
"""The extent of a dimension; structs with tags for files."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An argument or a result: its name, dtype, and the extent and padding of each dimension."""

    name: str
    dtype: DType
    dims: tuple[str, ...]
    extents: tuple[Rule, ...]
    padding: tuple[int, ...]

    @property
    def varies(self) -> bool:
        """Whether it is a ragged array and not a NumPy array."""
        return any(isinstance(rule, Varying) and rule.over for rule in self.extents)

    def __str__(self) -> str:
        dims = zip(self.dims, self.extents, strict=True)
        shape = ", ".join(str(rule.extent) if isinstance(rule, Fixed) else dim for dim, rule in dims)
        return f"{self.name}: {self.dtype.value}[{shape}]"


class Policy(Enum):
    """How the iterations of a parallel loop are ordered by their work: see `ragged.runtime.orders`.

    `DEALT`: every worker has as many iterations and about as much work. `LONGEST_FIRST`: those with most work come
    first, and workers have shares of about as much work.
    """

    DEALT = "dealt"
    LONGEST_FIRST = "longest_first"


@dataclass(frozen=True, slots=True)
class Order:
    """An array `name`, the order of a loop's iterations by a policy; the prelude's `table` has the work of each."""

    name: str
    table: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class ShareTable:
    """An array `name`: where each of `count` shares of a loop of equal work begins.

    `count` is the name of a size, the number of workers; the prelude's `table` has the work of each iteration.
    """

    name: str
    count: str
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RaggedSignature(Signature):
    """The arguments of a call, the parameters and the results.

    `sizes` and `lengths` are the names of the sizes and of the arrays of lengths that a call gives; `numbers` are
    those of sizes that may be negative; `orders` and `shares` are arrays computed from the prelude's tables.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    sizes: tuple[str, ...]
    lengths: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    orders: tuple[Order, ...] = ()
    shares: tuple[ShareTable, ...] = ()

    @property
    def output_names(self) -> frozenset[str]:
        """The names of the outputs."""
        return frozenset(each.name for each in self.outputs)

    def faults(self, executable: Executable) -> Iterator[str]:
        """Yield why this is not the signature of the code."""
        yield from Signature.faults(self, executable)
        for name, parameter in self.parameters.items():
            terms = (term for each in parameter.shape if isinstance(each, Affine) for term in each.terms)
            for size, _ in terms:
                if size not in self.sizes:
                    yield f"parameter '{name}' extends '{size}', which is no size"
        missing = names_of(executable.interface, Role.PAYLOAD) - {each.name for each in self.inputs}
        if missing:
            yield f"the code reads '{min(missing)}', which is no argument"
        if not executable.preludes:
            yield "it has no prelude"
        tables = {name for each in executable.preludes for name in names_of(each, Role.OUTPUT)}
        for tensor in (*self.inputs, *self.outputs):
            yield from self._tensor_faults(tensor, tables)

    def _tensor_faults(self, tensor: TensorSpec, tables: set[str]) -> Iterator[str]:
        if len({len(part) for part in (tensor.dims, tensor.extents, tensor.padding)}) > 1:
            yield f"'{tensor.name}' has other numbers of dimensions, extents and paddings"
        if not all(1 <= multiple < 2**31 for multiple in tensor.padding):
            yield f"'{tensor.name}' is padded to multiples of {tensor.padding}"
        for position, rule in enumerate(tensor.extents):
            match rule:
                case Fixed(extent=extent):
                    if not 0 <= extent < 2**62:
                        yield f"'{tensor.name}' extends {extent}"
                case Sized(size=size):
                    if size not in self.sizes:
                        yield f"'{tensor.name}' extends '{size}', which is no size"
                case Affine(terms=terms):
                    for size, _ in terms:
                        if size not in self.sizes:
                            yield f"'{tensor.name}' extends '{rule}', and '{size}' is no size"
                case Derived():
                    if tensor in self.inputs or tensor.varies:
                        yield f"'{tensor.name}' has an extent that the code computes, and is no dense result"
                case Varying(over=over, array=array, given=given):
                    if array not in (self.lengths if given else tables):
                        yield f"'{tensor.name}' has lengths '{array}', which nothing gives"
                    if over != tuple(sorted(set(over) & set(range(position)))):
                        yield f"'{tensor.name}' varies over dimensions {over}"
                case _:
                    assert_never(rule)

    def __str__(self) -> str:
        parameters = (f"{name}: {each}" for name, each in self.parameters.items())
        return f"({', '.join((*map(str, self.inputs), *parameters))}) -> {', '.join(map(str, self.outputs))}"
