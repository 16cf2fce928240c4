"""Evaluation of one node: its tensors, expression by expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from cortex.linearize.reference import StructureNode
from cortex.ra.base import K, ModelTensor
from cortex.ra.expr import (
    BinaryExpr,
    ChildReduce,
    DenseReduce,
    Expr,
    IndexVar,
    IsLeaf,
    Literal,
    NodeReduce,
    NumChildren,
    Read,
    ToFloat,
    UnaryExpr,
    Where,
)
from cortex.ra.node import ChildAt, ChildVar, Handle, Node, NodeVar
from cortex.ra.oracle import arrays
from cortex.ra.oracle.arrays import Value
from cortex.ra.tensor import Body, Compute, IfThenElse, InputTensor, NodeInput, Placeholder, dense
from ragged.errors import DataError
from ragged.ir.ops import BinaryOp, Combiner

Results: TypeAlias = dict[Placeholder, NDArray[Any]]
"""The results of a node by placeholder."""


@dataclass(frozen=True, slots=True)
class EvaluationScope:
    """Where an expression is evaluated: the axis of each dense index, the position of each child.

    A value is a number, or an array of `depth` axes that broadcasts to the extents of all indices. `mask`, if given,
    says where the value is needed: at the points where a branch of `where` is chosen.
    """

    axes: Mapping[IndexVar, int]
    children: Mapping[ChildVar, int]
    depth: int
    mask: NDArray[np.bool_] | None = None

    def inside(self, index: IndexVar) -> EvaluationScope:
        """Return the scope of a reduction's body, with another axis."""
        mask = None if self.mask is None else self.mask[..., None]
        return EvaluationScope({**self.axes, index: self.depth}, self.children, self.depth + 1, mask)

    def at(self, child: ChildVar, position: int) -> EvaluationScope:
        """Return the scope for one child."""
        return EvaluationScope(self.axes, {**self.children, child: position}, self.depth, self.mask)

    def where(self, condition: NDArray[np.bool_]) -> EvaluationScope:
        """Return the scope of the branch chosen where the condition holds."""
        mask = condition if self.mask is None else self.mask & condition
        return EvaluationScope(self.axes, self.children, self.depth, mask)

    @property
    def needed(self) -> bool:
        """Whether a value is needed at any point."""
        return self.mask is None or bool(self.mask.any())


@dataclass(slots=True)
class NodeRun:
    """The tensors of one node, each evaluated at most once and on demand."""

    parameters: Mapping[ModelTensor, NDArray[Any]]
    payload: Callable[[NodeInput, StructureNode], NDArray[Any]]
    results: Mapping[StructureNode, Results]
    node: StructureNode
    done: dict[tuple[ModelTensor, int | None], NDArray[Any]] = field(default_factory=dict)

    def tensor(self, tensor: Body, position: int | None = None) -> NDArray[Any]:
        """Return a tensor's value at the node, or, with the dimension K, for the child at `position`."""
        if (tensor, position) not in self.done:
            self.done[tensor, position] = self._compute(tensor, position)
        return self.done[tensor, position]

    def _compute(self, tensor: Body, position: int | None) -> NDArray[Any]:
        match tensor:
            case IfThenElse(condition=condition, then=then, orelse=orelse):
                return self.tensor(then if self.value(condition, EvaluationScope({}, {}, 0)) else orelse)
            case Compute(child=child, indices=indices, body=body):
                children = {} if child is None or position is None else {child: position}
                axes = {index: axis for axis, index in enumerate(indices)}
                value = self.value(body, EvaluationScope(axes, children, len(indices)))
                return np.array(np.broadcast_to(value, dense(tensor)))

    def value(self, expr: Expr, scope: EvaluationScope) -> Value:
        """Return an expression's value in a scope."""
        match expr:
            case Literal(value=value):
                return value
            case IndexVar(extent=extent):
                return arrays.index(extent, scope.axes[expr], scope.depth)
            case Read():
                return self._read(expr, scope)
            case ToFloat(operand=operand):
                return np.asarray(self.value(operand, scope), np.float64)
            case UnaryExpr(op=op, operand=operand):
                return arrays.unary(op)(self.value(operand, scope))
            case BinaryExpr(op=BinaryOp.AND | BinaryOp.OR as op, lhs=lhs, rhs=rhs):
                first = np.asarray(self.value(lhs, scope))
                other = scope.where(first if op is BinaryOp.AND else ~first)
                return arrays.BINARY[op](first, self.value(rhs, other)) if other.needed else first
            case BinaryExpr(op=BinaryOp.FLOORDIV | BinaryOp.MOD as op, lhs=lhs, rhs=rhs):
                divisor = arrays.divisor(self.value(rhs, scope), scope.mask, expr.text())
                return arrays.BINARY[op](self.value(lhs, scope), divisor)
            case BinaryExpr(op=op, lhs=lhs, rhs=rhs):
                return arrays.BINARY[op](self.value(lhs, scope), self.value(rhs, scope))
            case Where():
                return self._where(expr, scope)
            case DenseReduce(combiner=combiner, index=index, body=body):
                inner = scope.inside(index)
                if combiner is Combiner.SUM:
                    return self._sum(body, inner, index.extent)
                return arrays.largest(self.value(body, inner), inner.depth)
            case ChildReduce():
                return self._over_children(expr, scope)
            case NodeReduce():
                raise AssertionError("what is computed of structures")
            case IsLeaf(node=node):
                return not self._at(node, scope).children
            case NumChildren(node=node):
                return sum(child is not None for child in self._at(node, scope).children)
            case _:
                assert_never(expr)

    def _where(self, expr: Where, scope: EvaluationScope) -> Value:
        condition = np.asarray(self.value(expr.condition, scope))
        if condition.size == 1:
            return self.value(expr.if_true if condition.item() else expr.if_false, scope)
        taken, other = scope.where(condition), scope.where(~condition)
        if not taken.needed:
            return self.value(expr.if_false, scope)
        if not other.needed:
            return self.value(expr.if_true, scope)
        return np.where(condition, self.value(expr.if_true, taken), self.value(expr.if_false, other))

    def _sum(self, body: Expr, scope: EvaluationScope, extent: int) -> Value:
        """Return the sum over the scope's last axis; sums are split, and products contracted without their grid."""
        match body:
            case BinaryExpr(op=BinaryOp.ADD | BinaryOp.SUB as op, lhs=lhs, rhs=rhs):
                return arrays.BINARY[op](self._sum(lhs, scope, extent), self._sum(rhs, scope, extent))
            case BinaryExpr(op=BinaryOp.MUL, lhs=lhs, rhs=rhs):
                return arrays.dot(self.value(lhs, scope), self.value(rhs, scope), scope.depth, extent)
            case _:
                return arrays.total(self.value(body, scope), scope.depth, extent)

    def _over_children(self, expr: ChildReduce, scope: EvaluationScope) -> Value:
        given = [p for p, child in enumerate(self.node.children) if child is not None]
        result: Value = expr.combiner.identity
        combine = arrays.BINARY[BinaryOp.ADD if expr.combiner is Combiner.SUM else BinaryOp.MAX]
        for position in given:
            result = combine(result, self.value(expr.body, scope.at(expr.child, position)))
        return result

    def _read(self, read: Read, scope: EvaluationScope) -> Value:
        rest = [index for index in read.indices if not isinstance(index, Handle)]
        base = self._base(read, scope)
        places: list[Value] = []
        extents: list[int | None] = []
        for index, size in zip(rest, base.shape, strict=True):
            # An index that may leave the tensor does so where a `where` takes its other branch.
            if isinstance(index, IndexVar) and index.extent <= size:
                places.append(scope.axes[index])
                extents.append(index.extent)
            else:
                places.append(arrays.inside(self.value(index, scope), size, scope.mask, read.text()))
                extents.append(None)
        return arrays.take(base, places, extents, scope.depth)

    def _base(self, read: Read, scope: EvaluationScope) -> NDArray[Any]:
        """Return a tensor's values at one node (or child): its dense axes."""
        tensor = read.tensor
        if isinstance(tensor, InputTensor):
            return self.parameters[tensor]
        node = read.indices[0]
        assert isinstance(node, Handle)
        match tensor:
            case NodeInput():
                return self.payload(tensor, self._at(node, scope))
            case Placeholder(default=default):
                if default is not None and self._is_missing(node):
                    return np.full(dense(tensor), default)
                return self.results[self._at(node, scope)][tensor]
            case Compute() | IfThenElse():
                child = read.indices[1] if K in tensor.shape else None
                return self.tensor(tensor, scope.children[child] if isinstance(child, ChildVar) else None)
            case _:
                raise AssertionError(tensor)

    def _is_missing(self, node: Handle) -> bool:
        """Return whether a handle is a child position at which the node has no child."""
        children = self.node.children
        return isinstance(node, ChildAt) and children[node.position : node.position + 1] in ([], [None])

    def _at(self, node: Node, scope: EvaluationScope) -> StructureNode:
        """Return the node that a handle stands for."""
        match node:
            case NodeVar():
                return self.node
            case ChildVar():
                position = scope.children[node]
            case ChildAt():
                position = node.position
        children = self.node.children
        child = children[position] if position < len(children) else None
        if child is None:
            raise DataError(
                f"evaluate: node {self.node.where()} has no child {position}",
                because=f"the model reads {node.text()} there, and the node has {len(children)} children",
            )
        return child
