"""The functions of the language: elementwise functions, reductions, and properties of a node.

`sum_`, `max_` and `abs_` are exported as `ra.sum`, `ra.max` and `ra.abs`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cortex.ra.base import StructureDim
from cortex.ra.expr import (
    BinaryExpr,
    ChildReduce,
    DenseReduce,
    Expr,
    ExprLike,
    IndexVar,
    IsLeaf,
    NodeReduce,
    NumChildren,
    Read,
    Where,
    agree,
    as_float,
    binary,
    lift,
    unary,
)
from cortex.ra.node import ChildVar, Node, NodeVar, StructureVar
from cortex.ra.shapes import check_function, counted
from cortex.ra.walk import subexpressions
from ragged.errors import Location, ModelError
from ragged.ir.dtype import INDEX, DType
from ragged.ir.elementwise import front_end_function
from ragged.ir.ops import BinaryOp, Combiner, UnaryOp


def abs_(x: ExprLike) -> Expr:
    """Return the absolute value, of an integer as an integer."""
    return unary(UnaryOp.ABS, x)


def maximum(x: ExprLike, y: ExprLike) -> Expr:
    """Return the larger of two values; NaN if either is NaN."""
    return binary(BinaryOp.MAX, x, y)


def minimum(x: ExprLike, y: ExprLike) -> Expr:
    """Return the smaller of two values; NaN if either is NaN."""
    return binary(BinaryOp.MIN, x, y)


if TYPE_CHECKING:
    from cortex.ra.elementwise import *  # noqa: F403
else:

    def __getattr__(name: str) -> Callable[..., Expr]:
        """Return the elementwise function `name` of the table."""
        return front_end_function(sys.modules[__name__], name, unary)


def where(condition: ExprLike, if_true: ExprLike, if_false: ExprLike) -> Expr:
    """Return `if_true` where the condition holds, else `if_false`; what the other one reads need not be there.

    It is not evaluated, but for sums of products of what is there at all nodes, which are computed in tiles of nodes.

    Example:
        >>> x = compute((N, E), lambda n, i: where(word[n] >= 0, emb[word[n], i], 0.0))
    """
    then, orelse = agree(if_true, if_false)
    chosen = Where(lift(condition), then, orelse, dtype=then.dtype, at=Location.capture())
    if chosen.condition.dtype is not DType.BOOL:
        raise ModelError(
            f"'{chosen.text()}': the condition is a number",
            at=chosen.at,
            fix="compare it: where(x != 0, ...)",
        )
    return chosen


def sum_(extent: int, function: Callable[[IndexVar], ExprLike]) -> Expr:
    """Return the sum of `function(j)` over 0 <= j < extent, in this order.

    A sum of 32 terms or more that depends on no dense index, as a dot product, is compiled as 16 partial sums: lane l
    adds up the terms l, l + 16, ..., lanes are added in pairs, and then come the terms that fill no row of 16. Where
    products are added up, as in `U[i, j] * h[n, j] + V[i, j] * x[n, j]`, each has a sum of its own. The sum of products
    is multiplied by the factors that do not depend on j, and divided by such divisors, afterwards.

    Example:
        >>> u = compute((N, H), lambda n, i: sum_(H, lambda j: U[i, j] * hs[n, j]))
    """
    return _over_index(Combiner.SUM, extent, function)


def max_(extent: int, function: Callable[[IndexVar], ExprLike]) -> Expr:
    """Return the largest `function(j)` over 0 <= j < extent; NaN if one of them is NaN."""
    return _over_index(Combiner.MAX, extent, function)


def sum_children(node: Node, function: Callable[[ChildVar], ExprLike]) -> Expr:
    """Return the sum of `function(k)` over the children k of the node, in order; 0 at a leaf.

    The sum is one float32 number, to which terms are added one after another: of n terms of one size, up to n * 2**-24
    of it is lost.

    Example:
        >>> hs = compute((N, H), lambda n, i: sum_children(n, lambda k: h_ph[k, i]))
    """
    return _over_children(Combiner.SUM, node, function)


def max_children(node: Node, function: Callable[[ChildVar], ExprLike]) -> Expr:
    """Return the largest `function(k)` over the children k of the node; minus infinity at a leaf, NaN if one is NaN."""
    return _over_children(Combiner.MAX, node, function)


def isleaf(node: Node) -> Expr:
    """Return whether the node has no child."""
    return IsLeaf(_node("isleaf", node), dtype=DType.BOOL, at=Location.capture())


def num_children(node: Node) -> Expr:
    """Return the number of children of the node, an integer."""
    return NumChildren(_node("num_children", node), dtype=INDEX, at=Location.capture())


def sum_nodes(structure: StructureVar, function: Callable[[NodeVar], ExprLike]) -> Expr:
    """Return the sum of `function(n)` over the nodes n of the structure, in post-order.

    It rounds as `sum_children` does: one term after another, in float32.

    Example:
        >>> mean = compute((S, H), lambda s, i: sum_nodes(s, lambda n: h[n, i]) / num_nodes(s))
    """
    return _over_nodes(Combiner.SUM, structure, function)


def max_nodes(structure: StructureVar, function: Callable[[NodeVar], ExprLike]) -> Expr:
    """Return the largest `function(n)` over the nodes n of the structure; NaN if one is NaN."""
    return _over_nodes(Combiner.MAX, structure, function)


def num_nodes(structure: StructureVar) -> Expr:
    """Return the number of nodes of the structure, a float: exact up to 2**24."""
    return sum_nodes(structure, lambda n: 1.0)


def _over_nodes(combiner: Combiner, structure: StructureVar, function: Callable[[NodeVar], ExprLike]) -> Expr:
    at = Location.capture()
    what = f"ra.{combiner.value}_nodes"
    node = NodeVar(_parameter(what, function, at))
    body = as_float(function(node))
    return NodeReduce(combiner, _structure(what, structure), node, body, dtype=body.dtype, at=at)


def _structure(what: str, structure: object) -> StructureVar:
    if isinstance(structure, StructureVar):
        return structure
    shown = structure.text() if isinstance(structure, Expr | Node) else repr(structure)
    raise ModelError(
        f"{what}: '{shown}' is no structure",
        at=Location.capture(),
        fix="give it the s of a compute over structures: ra.compute((ra.S, ...), lambda s, i: ...)",
    )


def _over_index(
    combiner: Combiner, extent: int | StructureDim, function: Callable[[IndexVar], ExprLike]
) -> Expr:
    at = Location.capture()
    what = f"ra.{combiner.value}"
    if not isinstance(extent, (int, np.integer)):
        raise ModelError(
            f"{what}: {extent!r} is no extent",
            at=at,
            because="a dense reduction runs over as many elements at every node",
            fix=f"over the children of a node: ra.{combiner.value}_children(n, lambda k: ...)",
        )
    if isinstance(extent, bool) or extent < 1:
        raise ModelError(
            f"{what}: {extent!r} is no extent", at=at, because="an extent is a whole number from 1 on"
        )
    index = IndexVar(_parameter(what, function, at), int(extent), dtype=INDEX, at=at)
    body = as_float(function(index))
    if combiner is Combiner.SUM:
        return _sum_of(index, body, at)
    return DenseReduce(combiner, index, body, dtype=body.dtype, at=at)


def _sum_of(index: IndexVar, body: Expr, at: Location | None) -> Expr:
    """Return the sum over an index: where products are added up, the sum of each, as a product alone has a tile.

    What all terms are multiplied by or divided by is outside of the sum.
    """
    match body:
        case BinaryExpr(op=BinaryOp.ADD | BinaryOp.SUB as op, lhs=lhs, rhs=rhs) if _adds_product(body):
            return binary(op, _sum_of(index, lhs, at), _sum_of(index, rhs, at))
        case _:
            inside, outside = _factors(index, body)
            if inside is None:
                inside, outside = body, []
            total: Expr = DenseReduce(Combiner.SUM, index, inside, dtype=body.dtype, at=at)
            for by, factor in outside:
                total = binary(by, total, factor)
            return total


def _factors(index: IndexVar, expr: Expr) -> tuple[Expr | None, list[tuple[BinaryOp, Expr]]]:
    """Return the product of the factors that depend on an index, and the others with the operator before each."""
    match expr:
        case BinaryExpr(op=BinaryOp.MUL, lhs=lhs, rhs=rhs):
            one, before = _factors(index, lhs)
            other, after = _factors(index, rhs)
            if one is None or other is None:
                return (other if one is None else one), [*before, *after]
            return binary(BinaryOp.MUL, one, other), [*before, *after]
        case BinaryExpr(op=BinaryOp.DIV, lhs=lhs, rhs=rhs) if _is_free_of(index, rhs):
            dividend, others = _factors(index, lhs)
            return dividend, [*others, (BinaryOp.DIV, rhs)]
        case _:
            return (None, [(BinaryOp.MUL, expr)]) if _is_free_of(index, expr) else (expr, [])


def _is_free_of(index: IndexVar, expr: Expr) -> bool:
    return all(part is not index for part in subexpressions(expr))


def _adds_product(expr: Expr) -> bool:
    """Return whether one of the terms of a sum is a product of two elements."""
    match expr:
        case BinaryExpr(op=BinaryOp.ADD | BinaryOp.SUB, lhs=lhs, rhs=rhs):
            return _adds_product(lhs) or _adds_product(rhs)
        case BinaryExpr(op=BinaryOp.MUL, lhs=lhs, rhs=rhs):
            return all(any(isinstance(part, Read) for part in subexpressions(each)) for each in (lhs, rhs))
        case _:
            return False


def _over_children(combiner: Combiner, node: Node, function: Callable[[ChildVar], ExprLike]) -> Expr:
    at = Location.capture()
    what = f"ra.{combiner.value}_children"
    child = ChildVar(_node(what, node), _parameter(what, function, at))
    body = as_float(function(child))
    return ChildReduce(combiner, child, body, dtype=body.dtype, at=at)


def _parameter(what: str, function: Callable[..., Any], at: Location | None) -> str:
    """Return the name of the function's only parameter."""
    letter = "k" if what.endswith("children") else "n" if what.endswith("nodes") else "j"
    check_function(what, function, f"{what}(..., lambda {letter}: ...)", at)
    named = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    if len(named) != 1:
        raise ModelError(
            f"{what}: the function takes {counted(len(named), 'argument')}, and is given one",
            at=at,
            fix="lambda k: ...",
        )
    return named[0].name


def _node(what: str, node: object) -> Node:
    if isinstance(node, Node) and not isinstance(node, StructureVar):
        return node
    shown = node.text() if isinstance(node, Expr | Node) else repr(node)
    raise ModelError(
        f"{what}: '{shown}' is no node", at=Location.capture(), fix="give it the n of the compute"
    )
