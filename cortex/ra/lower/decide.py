"""The truth of conditions on the structure in one case of a specialized program."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from cortex.ra.expr import (
    BinaryExpr,
    Expr,
    IsLeaf,
    Literal,
    NumChildren,
    Read,
    UnaryExpr,
    operands,
    subexpressions,
)
from cortex.ra.lower.known import LEAF, Decisions, comparison, subject
from cortex.ra.node import NodeVar
from cortex.ra.tensor import NodeInput
from ragged.ir.ops import BinaryOp, UnaryOp


def key(atom: Expr) -> Hashable | None:
    """Return a key of a condition on a compute's own node, None for any other condition.

    It does not depend on the node variable's identity. A condition on a child is not a property of the case's node.
    """
    match atom:
        case IsLeaf(node=NodeVar()):
            return LEAF
        case NumChildren(node=NodeVar()):
            return "num_children"
        case Read() if subject(atom)[1]:
            return ("payload", subject(atom)[0])
        case Literal(value=value):
            return ("const", value)
        case UnaryExpr(op=op) | BinaryExpr(op=op):
            parts = tuple(key(operand) for operand in operands(atom))
            return None if None in parts else (op, *parts)
        case _:
            return None


def asks_payload(condition: Expr) -> bool:
    """Return whether a condition depends on a payload."""
    return any(isinstance(e, Read) and isinstance(e.tensor, NodeInput) for e in subexpressions(condition))


def atoms(condition: Expr) -> Iterator[Expr]:
    """Yield the conditions that `condition` combines with and, or, not."""
    match condition:
        case BinaryExpr(op=op) if op.is_logical:
            for operand in operands(condition):
                yield from atoms(operand)
        case UnaryExpr(op=UnaryOp.NOT, operand=operand):
            yield from atoms(operand)
        case _:
            yield condition


def decide(condition: Expr, decisions: Decisions) -> bool | None:
    """Return the condition's value in the case that `decisions` describe, or None if they leave it open."""
    match condition:
        case UnaryExpr(op=UnaryOp.NOT, operand=operand):
            value = decide(operand, decisions)
            return None if value is None else not value
        case BinaryExpr(op=BinaryOp.AND, lhs=lhs, rhs=rhs):
            return _join(decide(lhs, decisions), decide(rhs, decisions), decisive=False)
        case BinaryExpr(op=BinaryOp.OR, lhs=lhs, rhs=rhs):
            return _join(decide(lhs, decisions), decide(rhs, decisions), decisive=True)
        case _:
            compared = comparison(condition) if decisions.values else None
            answer = None if compared is None else decisions.answer(compared)
            if answer is not None:
                return answer
            known = key(condition)
            return None if known is None else decisions.answers.get(known)


def _join(lhs: bool | None, rhs: bool | None, *, decisive: bool) -> bool | None:
    if decisive in (lhs, rhs):
        return decisive
    return None if None in (lhs, rhs) else not decisive
