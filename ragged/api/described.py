"""What a compiled ragged function has to know of its tensors, as data: no expression of the API is kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import msgspec

from ragged.ir.dtype import DType


class Fixed(msgspec.Struct, frozen=True, tag=True):
    """An extent that is a number."""

    extent: int


class Sized(msgspec.Struct, frozen=True, tag=True):
    """An extent that is a size, known at the call."""

    size: str


class Varying(msgspec.Struct, frozen=True, tag=True):
    """An extent for each index of the dimensions `over`, in row-major order.

    `array` is the name of the lengths that a call gives, or of the table that the prelude fills with them. Over no
    dimensions it is one number that the prelude computes from sizes.
    """

    over: tuple[int, ...]
    array: str
    given: bool


Rule = Fixed | Sized | Varying
"""How far a dimension extends; structs with tags, so that files say which."""


@dataclass(frozen=True, slots=True)
class DescribedTensor:
    """An argument or a result: its name, its elements, and the rule and the padding of each dimension."""

    name: str
    dtype: DType
    dims: tuple[str, ...]
    extents: tuple[Rule, ...]
    padding: tuple[int, ...]

    @property
    def varies(self) -> bool:
        """Whether it is a ragged array, and not one of NumPy's."""
        return any(isinstance(rule, Varying) and rule.over for rule in self.extents)

    def __str__(self) -> str:
        dims = zip(self.dims, self.extents, strict=True)
        shape = ", ".join(str(rule.extent) if isinstance(rule, Fixed) else dim for dim, rule in dims)
        return f"{self.name}: {self.dtype.value}[{shape}]"


class Policy(Enum):
    """How the iterations of a parallel loop are ordered by their work: see `ragged.runtime.orders`."""

    DEALT = "dealt"
    LONGEST_FIRST = "longest_first"


@dataclass(frozen=True, slots=True)
class Order:
    """An array `name`, the order of a loop's iterations by a policy; the prelude's `table` has the work of each."""

    name: str
    table: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class Described:
    """The arguments of a call, the parameters that are bound, and the results.

    `sizes` and `lengths` are the names of the numbers and of the arrays of lengths that a call has to tell; `orders`
    are arrays that are made of what the prelude computes.
    """

    inputs: tuple[DescribedTensor, ...]
    parameters: tuple[DescribedTensor, ...]
    outputs: tuple[DescribedTensor, ...]
    sizes: tuple[str, ...]
    lengths: tuple[str, ...]
    orders: tuple[Order, ...] = ()

    def __str__(self) -> str:
        outputs = ", ".join(map(str, self.outputs))
        return f"({', '.join(map(str, (*self.inputs, *self.parameters)))}) -> {outputs}"
