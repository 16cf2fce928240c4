"""The tensors of a model.

InputTensor   a parameter: dense extents only
NodeInput     a payload: N, then the extents of one node's value
Placeholder   the result of the recursion: N, then the extents of one node's result
Compute       a value for each node (N, ...) or for each child of each node (N, K, ...)
IfThenElse    one of two computes, by a condition on the structure
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Never, TypeAlias

from cortex.ra.base import ModelTensor, own_name
from cortex.ra.expr import Expr, Index, IndexVar, Read, lift
from cortex.ra.node import ChildVar, Handle, NodeVar
from cortex.ra.rules import shown
from ragged.errors import Location, ModelError
from ragged.ir.dtype import INDEX


@dataclass(frozen=True, slots=True, eq=False)
class Indexed(ModelTensor):
    """A tensor that is read by `tensor[indices]`; the indices are checked when the recursion is closed."""

    def __getitem__(self, index: Index | int | tuple[Index | int, ...]) -> Read:
        at = Location.capture()
        indices = index if isinstance(index, tuple) else (index,)
        lifted = tuple(i if isinstance(i, Handle) else lift(i) for i in indices)
        return Read(self, lifted, dtype=INDEX if self.dtype.is_int else self.dtype, at=at)

    def __iter__(self) -> Never:
        raise ModelError(
            f"tensor '{own_name(self)}' cannot be iterated over",
            at=Location.capture(),
            fix="reduce over a dense index with ra.sum, over children with ra.sum_children",
        )

    def __add__(self, other: object) -> Never:
        raise _whole(f"{shown(self)} + {shown(other)}")

    def __sub__(self, other: object) -> Never:
        raise _whole(f"{shown(self)} - {shown(other)}")

    def __mul__(self, other: object) -> Never:
        raise _whole(f"{shown(self)} * {shown(other)}")

    def __rmul__(self, other: object) -> Never:
        raise _whole(f"{shown(other)} * {shown(self)}")

    def __truediv__(self, other: object) -> Never:
        raise _whole(f"{shown(self)} / {shown(other)}")

    def __matmul__(self, other: object) -> Never:
        raise _whole(f"{shown(self)} @ {shown(other)}")


@dataclass(frozen=True, slots=True, eq=False)
class InputTensor(Indexed):
    """A parameter of dense extents, the same for all nodes."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeInput(Indexed):
    """A payload `name` of each node, of shape (N, *extents of one node's value).

    `default` is its value at nodes that carry none; without one, every node at which the model reads it must carry it.
    """

    default: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Placeholder(Indexed):
    """The result of the recursion, read at a node's children: (N, *extents of one node's result).

    `default` is its value at a child position that a node lacks; without one, only existing children may be read.
    """

    default: float | None = None
    calls: bool = field(kw_only=True, default=True, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class UnreadPlaceholder(Placeholder):
    """The placeholder of an output that was declared without one: no node reads it."""


class ComputedTensor(Indexed):
    """A tensor that is computed; keeps the sites of its expressions (`cortex.ra.sites`)."""

    __slots__ = ("_sites",)

    _sites: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Compute(ComputedTensor):
    """`body` at each `node` and each of `indices`; with K in the shape, also at each `child` of the node."""

    node: NodeVar
    child: ChildVar | None
    indices: tuple[IndexVar, ...]
    body: Expr


@dataclass(frozen=True, slots=True, eq=False)
class IfThenElse(ComputedTensor):
    """`then` at the nodes where `condition` holds, `orelse` at the others; all three of one shape."""

    node: NodeVar
    condition: Expr
    then: Body
    orelse: Body


Body: TypeAlias = Compute | IfThenElse
"""A tensor computed at a node."""


def dense(tensor: ModelTensor) -> tuple[int, ...]:
    """Return the dense extents of a tensor: its shape without N and K."""
    return tuple(extent for extent in tensor.shape if isinstance(extent, int))


def _whole(text: str) -> ModelError:
    return ModelError(
        f"{text}: arithmetic on a whole tensor",
        at=Location.capture(),
        because="a model says what one element of each tensor is",
        fix="read elements, a[n, i] + b[n, i]; a matrix times a vector is ra.sum(extent, lambda j: W[i, j] * x[n, j])",
    )
