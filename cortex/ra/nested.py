"""Dense reductions within reductions over children, as computes of their own.

`sum_children(n, lambda k: sum(H, lambda j: W[i, j] * h[k, j]))` is the sum of a product for each child. As a tensor
`(N, K, H)` this is computed as products are, in tiles and for many nodes at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortex.ra.base import K, N, Shape
from cortex.ra.expr import (
    ChildReduce,
    DenseReduce,
    Expr,
    IndexVar,
    IsLeaf,
    NumChildren,
    Read,
    UnaryExpr,
    Where,
    operands,
)
from cortex.ra.node import ChildVar, NodeVar
from cortex.ra.rewrite.rebuild import with_operands
from cortex.ra.tensor import Compute
from cortex.ra.walk import subexpressions
from ragged.ir.ops import UnaryOp


def apart(body: Expr, node: NodeVar, indices: Sequence[IndexVar], name: str) -> Expr:
    """Return the body of a compute in which dense reductions of a child are read from computes (N, K, ...) or (N, ...).

    Those that a condition guards stay where they are, as do those that look something up, since the computes are of all
    children of all nodes. Whether the node is a leaf guards none: it has no children then.
    """
    if isinstance(body, Where) and not _is_about_leaf(body.condition, node):
        return body
    if isinstance(body, ChildReduce) and body.child.node is node:
        return with_operands(body, (_of_child(body.body, body.child, node, indices, name),))
    return with_operands(body, tuple(apart(each, node, indices, name) for each in operands(body)))


def _of_child(expr: Expr, child: ChildVar, node: NodeVar, indices: Sequence[IndexVar], name: str) -> Expr:
    match expr:
        case Where() | ChildReduce():
            return expr
        case DenseReduce():
            return _read(expr, child, node, indices, name)
        case _:
            return with_operands(
                expr, tuple(_of_child(each, child, node, indices, name) for each in operands(expr))
            )


def _read(expr: DenseReduce, child: ChildVar, node: NodeVar, indices: Sequence[IndexVar], name: str) -> Expr:
    parts = list(subexpressions(expr))
    inside = {each.index for each in parts if isinstance(each, DenseReduce)}
    used = {each for each in parts if isinstance(each, IndexVar)} - inside
    looked_up = any(
        isinstance(part, Read)
        for each in parts
        if isinstance(each, Read)
        for i in operands(each)
        for part in subexpressions(i)
    )
    if looked_up or any(isinstance(each, ChildReduce) for each in parts) or not used <= set(indices):
        return expr
    free = tuple(each for each in indices if each in used)
    extents = (each.extent for each in free)
    label = f"{name}_of_child" if name else ""
    if any(_is_of(each, child) for each in parts):
        shape: Shape = (N, K, *extents)
        tensor = Compute(label, shape, expr.dtype, node, child, free, expr, calls=expr.calls, at=expr.at)
        return Read(tensor, (node, child, *free), dtype=expr.dtype, at=expr.at)
    tensor = Compute(label, (N, *extents), expr.dtype, node, None, free, expr, calls=expr.calls, at=expr.at)
    return Read(tensor, (node, *free), dtype=expr.dtype, at=expr.at)


def _is_about_leaf(condition: Expr, node: NodeVar) -> bool:
    """Return whether a condition is that the node is a leaf, or that it is none."""
    match condition:
        case IsLeaf(node=about):
            return about is node
        case UnaryExpr(op=UnaryOp.NOT, operand=inner):
            return _is_about_leaf(inner, node)
        case _:
            return False


def _is_of(expr: Expr, child: ChildVar) -> bool:
    """Return whether an expression reads at the child."""
    match expr:
        case Read(indices=indices):
            return any(each is child for each in indices)
        case IsLeaf(node=node) | NumChildren(node=node):
            return node is child
        case _:
            return False
