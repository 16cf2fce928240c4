"""The tensors of a model: what it is given, what recursion returns, and what it computes at a node.

InputTensor   a parameter: dense extents only
NodeInput     a payload: N, then what each node carries
Placeholder   the result of the recursion: N, then what it returns for a node
Compute       a value for each node (N, ...) or for each child of each node (N, K, ...)
IfThenElse    one of two computes, by a condition on the structure
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Never, TypeAlias

from cortex.ra.base import ModelTensor, own_name
from cortex.ra.expr import Expr, Index, IndexVar, Read, lift
from cortex.ra.node import ChildVar, Handle, NodeVar
from cortex.ra.rules import shown
from ragged.errors import Location, ModelError
from ragged.ir.dtype import INDEX


@dataclass(frozen=True, slots=True, eq=False)
class Indexed(ModelTensor):
    """A tensor that is read by `tensor[indices]`; whether the indices fit is checked with the model."""

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
    """A parameter, of dense extents, the same for all nodes."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeInput(Indexed):
    """What each node carries under `name`: `shape` is (N, *what one node carries).

    `default` is what a node reads as that carries none; without one, every node that the model reads it at
    must carry it.
    """

    default: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Placeholder(Indexed):
    """The result of the recursion at a node, to be read at a node's children: (N, *what it returns).

    `default` is what a child that is not there reads as; without one, it may be read only where there is one.
    """

    default: float | None = None
    calls: bool = field(kw_only=True, default=True, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Compute(Indexed):
    """`body` at each `node` and each of `indices`; with K in the shape, at each `child` of the node too."""

    node: NodeVar
    child: ChildVar | None
    indices: tuple[IndexVar, ...]
    body: Expr


@dataclass(frozen=True, slots=True, eq=False)
class IfThenElse(Indexed):
    """`then` at the nodes where `condition` holds, `orelse` at the others; all three of one shape."""

    node: NodeVar
    condition: Expr
    then: Body
    orelse: Body


Body: TypeAlias = Compute | IfThenElse
"""What computes a value at a node."""


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
