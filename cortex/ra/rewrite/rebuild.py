"""Substitution of operands and tensors in expressions and computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

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
    NodeReduce,
    NumChildren,
    Read,
    ToFloat,
    UnaryExpr,
    Where,
    operands,
)
from cortex.ra.model import Model
from cortex.ra.tensor import Body, Compute, IfThenElse


def with_operands(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
    """Return `expr` with other operands, in the order of `operands`; `expr` itself if they are unchanged."""
    if all(new is old for new, old in zip(parts, operands(expr), strict=True)):
        return expr
    match expr:
        case Literal() | IndexVar() | IsLeaf() | NumChildren():
            return expr
        case Read(indices=indices):
            rest = iter(parts)
            changed: tuple[Index, ...] = tuple(next(rest) if isinstance(i, Expr) else i for i in indices)
            return replace(expr, indices=changed)
        case ToFloat() | UnaryExpr():
            return replace(expr, operand=parts[0])
        case BinaryExpr():
            return replace(expr, lhs=parts[0], rhs=parts[1])
        case Where():
            return replace(expr, condition=parts[0], if_true=parts[1], if_false=parts[2])
        case DenseReduce() | ChildReduce() | NodeReduce():
            return replace(expr, body=parts[0])
        case _:
            assert_never(expr)


def with_tensors(model: Model, replaced: Mapping[ModelTensor, Body]) -> dict[ModelTensor, Body]:
    """Return each compute of a model rewritten to read the replaced tensors; itself if unchanged."""
    made: dict[ModelTensor, Body] = {}
    for body in model.bodies:
        made[body] = replaced.get(body) or _reading(body, made)
    return made


def _reading(body: Body, made: Mapping[ModelTensor, Body]) -> Body:
    match body:
        case Compute():
            expr = _expr(body.body, made)
            return body if expr is body.body else replace(body, body=expr, calls=expr.calls)
        case IfThenElse(then=then, orelse=orelse):
            if made[then] is then and made[orelse] is orelse:
                return body
            calls = body.condition.calls or made[then].calls or made[orelse].calls
            return replace(body, then=made[then], orelse=made[orelse], calls=calls)
        case _:
            assert_never(body)


def _expr(expr: Expr, made: Mapping[ModelTensor, Body]) -> Expr:
    changed = with_operands(expr, tuple(_expr(operand, made) for operand in operands(expr)))
    match changed:
        case Read(tensor=tensor) if made.get(tensor, tensor) is not tensor:
            return replace(changed, tensor=made[tensor])
        case _:
            return changed
