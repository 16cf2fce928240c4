"""What a condition on the structure is worth in one case of a specialized program."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from cortex.ra.expr import Binary, Const, Expr, IsLeaf, NumChildren, Unary, operands
from cortex.ra.node import NodeVar
from ragged.ir.ops import BinaryOp, UnaryOp

Decisions = Mapping[Hashable, bool]
"""Atomic conditions by their key, and what they are in this case."""

LEAF = "isleaf"
"""The key of the one condition that splits a program into nests of its own."""


def key(atom: Expr) -> Hashable | None:
    """Return what tells one condition on a compute's own node from another, None for any other condition.

    It does not depend on what the computes call their node. A condition on a child, or on what a node carries, is
    no property of the node that a case is about, whatever it looks like.
    """
    match atom:
        case IsLeaf(node=NodeVar()):
            return LEAF
        case NumChildren(node=NodeVar()):
            return "num_children"
        case Const(value=value):
            return ("const", value)
        case Unary(op=op) | Binary(op=op):
            parts = tuple(key(operand) for operand in operands(atom))
            return None if None in parts else (op, *parts)
        case _:
            return None


def atoms(condition: Expr) -> Iterator[Expr]:
    """Yield the conditions that `condition` joins with and, or, not."""
    match condition:
        case Binary(op=op) if op.is_logical:
            for operand in operands(condition):
                yield from atoms(operand)
        case Unary(op=UnaryOp.NOT, operand=operand):
            yield from atoms(operand)
        case _:
            yield condition


def decide(condition: Expr, decisions: Decisions) -> bool | None:
    """Return the condition's value in the case that `decisions` describe, or None if they leave it open."""
    match condition:
        case Unary(op=UnaryOp.NOT, operand=operand):
            value = decide(operand, decisions)
            return None if value is None else not value
        case Binary(op=BinaryOp.AND, lhs=lhs, rhs=rhs):
            return _join(decide(lhs, decisions), decide(rhs, decisions), decisive=False)
        case Binary(op=BinaryOp.OR, lhs=lhs, rhs=rhs):
            return _join(decide(lhs, decisions), decide(rhs, decisions), decisive=True)
        case _:
            known = key(condition)
            return None if known is None else decisions.get(known)


def _join(lhs: bool | None, rhs: bool | None, *, decisive: bool) -> bool | None:
    if decisive in (lhs, rhs):
        return decisive
    return None if None in (lhs, rhs) else not decisive
