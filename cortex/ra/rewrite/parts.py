"""The part of a compute that depends on one child, as a compute of that child: it can move there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

from cortex.ra.base import ModelTensor
from cortex.ra.expr import (
    BinaryExpr,
    ChildReduce,
    DenseReduce,
    Expr,
    Index,
    IndexVar,
    IsLeaf,
    Literal,
    NumChildren,
    Read,
    UnaryExpr,
    operands,
)
from cortex.ra.node import ChildAt, ChildVar, NodeVar
from cortex.ra.rewrite.rebuild import with_operands
from cortex.ra.tensor import Body, Compute, IfThenElse, InputTensor, Placeholder
from ragged.errors import ScheduleError
from ragged.ir.ops import BinaryOp, Combiner, UnaryOp


class Children(Enum):
    """The children that a value depends on: none, the child of the loop (`EACH`), or all in a `SUM`."""

    NONE = "no child"
    EACH = "each child for itself"
    SUM = "the sum over all children"


Of: TypeAlias = Children | int
"""The children that a value depends on; a number is the position of one child."""

Refuse: TypeAlias = Callable[[Expr | None, str], ScheduleError]
"""Returns the error for an expression that prevents the move, and the reason."""


@dataclass(frozen=True, slots=True)
class _PartContext:
    """The new compute's node, and the child of the old compute that it stands for."""

    node: NodeVar
    child: ChildVar | None


@dataclass
class ChildParts:
    """Finds the part of each compute that depends on one child, memoised.

    `results` maps a placeholder, read at a child, to the compute of the result, read at its own node. An expression
    linear in a sum over children is the sum of its parts; any other must depend on one child only.
    """

    results: Mapping[Placeholder, Body]
    name: Callable[[ModelTensor], str]
    refuse: Refuse
    reads: list[Read] = field(default_factory=list)
    _found: dict[ModelTensor, tuple[Body, Of]] = field(default_factory=dict)

    def of(self, compute: Compute) -> tuple[Body, Of]:
        """Return a compute's part at the child, and the children that its value depends on.

        Raises:
            ScheduleError: it depends on the node itself, or on several children other than through a sum.
        """
        if compute not in self._found:
            place = _PartContext(NodeVar(compute.node.name), compute.child)
            body, of = self._expr(compute.body, place)
            self._found[compute] = (_part(compute, f"{self.name(compute)}_up", place.node, body), of)
        return self._found[compute]

    def _expr(self, expr: Expr, place: _PartContext) -> tuple[Expr, Of]:
        match expr:
            case Literal() | IndexVar():
                return expr, Children.NONE
            case Read():
                return self._read(expr, place)
            case IsLeaf(node=node) | NumChildren(node=node):
                of = self._child(node, expr, place)
                return replace(expr, node=place.node), of
            case ChildReduce():
                return self._over_children(expr, place)
            case _:
                found = [self._expr(operand, place) for operand in operands(expr)]
                changed = with_operands(expr, tuple(part for part, _ in found))
                return changed, self._join(expr, [of for _, of in found])

    def _join(self, expr: Expr, parts: list[Of]) -> Of:
        """Return the children that an expression depends on, given those of its operands."""
        different = list(dict.fromkeys(of for of in parts if of is not Children.NONE))
        if len(different) > 1:
            raise self.refuse(
                expr, f"it takes in {_described(different[0])} together with {_described(different[1])}"
            )
        of = different[0] if different else Children.NONE
        if of is Children.SUM and not _is_linear(expr, parts):
            raise self.refuse(expr, "it is not linear in the sum over the children")
        return of

    def _over_children(self, reduction: ChildReduce, place: _PartContext) -> tuple[Expr, Of]:
        if reduction.combiner is not Combiner.SUM:
            raise self.refuse(reduction, "it compares the children with each other")
        if not isinstance(reduction.child.node, NodeVar):
            raise self.refuse(reduction, "it is of the children of a child")
        body, of = self._expr(reduction.body, _PartContext(place.node, reduction.child))
        if of not in (Children.EACH, Children.NONE):
            raise self.refuse(reduction, f"in a sum over the children it takes in {_described(of)}")
        return body, Children.SUM

    def _read(self, read: Read, place: _PartContext) -> tuple[Expr, Of]:
        found = [self._expr(index, place) for index in read.indices if isinstance(index, Expr)]
        of = self._join(read, [of for _, of in found])
        rest: list[Index] = [index for index, _ in found]
        match read.tensor:
            case InputTensor():
                return with_operands(read, tuple(index for index, _ in found)), of
            case Compute() as compute:
                return self._inner(read, compute, place, of, rest)
            case Placeholder() as placeholder:
                self.reads.append(read)
                own = self._child(read.indices[0], read, place)
                tensor = self.results[placeholder]
                return replace(read, tensor=tensor, indices=(place.node, *rest)), self._join(read, [own, of])
            case _:
                own = self._child(read.indices[0], read, place)
                return replace(read, indices=(place.node, *rest)), self._join(read, [own, of])

    def _inner(
        self, read: Read, compute: Compute, place: _PartContext, of: Of, rest: list[Index]
    ) -> tuple[Expr, Of]:
        """Return the read of another compute's part."""
        part, own = self.of(compute)
        if own is Children.EACH and read.indices[1] is not place.child:
            raise self.refuse(read, "it is of a child of another loop over children")
        return replace(read, tensor=part, indices=(place.node, *rest)), self._join(read, [own, of])

    def _child(self, node: Index, expr: Expr, place: _PartContext) -> Of:
        """Return which child a handle in `expr` names."""
        match node:
            case ChildAt(node=NodeVar(), position=position):
                return position
            case ChildVar() if node is place.child:
                return Children.EACH
            case NodeVar():
                raise self.refuse(expr, "it is of the node itself, which its children do not know")
            case _:
                raise self.refuse(expr, f"'{node.text()}' is a child of another loop over children")


def _part(compute: Compute, name: str, node: NodeVar, body: Expr) -> Body:
    """Return the compute of a part, or the existing tensor if the part only copies it."""
    match body:
        case Read(tensor=Compute() | IfThenElse() as tensor, indices=(NodeVar(), *rest)) if tensor.shape[
            1:
        ] == tuple(index.extent for index in compute.indices) and all(
            a is b for a, b in zip(rest, compute.indices, strict=True)
        ):
            return tensor
    shape = (compute.shape[0], *(index.extent for index in compute.indices))
    return Compute(
        name, shape, body.dtype, node, None, compute.indices, body, calls=body.calls, at=compute.at
    )


def _is_linear(expr: Expr, parts: list[Of]) -> bool:
    """Return whether an expression is linear in its operands that are sums over the children."""
    match expr:
        case UnaryExpr(op=UnaryOp.NEG) | DenseReduce(combiner=Combiner.SUM):
            return True
        case BinaryExpr(op=BinaryOp.ADD | BinaryOp.SUB):
            return all(of is Children.SUM for of in parts)
        case BinaryExpr(op=BinaryOp.MUL):
            return Children.NONE in parts
        case Read(tensor=Compute()):
            return parts[-1] is Children.NONE
        case _:
            return False


def _described(of: Of) -> str:
    return f"the child at position {of}" if isinstance(of, int) else of.value
