"""What a condition on the structure is worth in one case of a specialized program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cortex.ra.expr import Binary, Expr, IsLeaf, Unary, operands
from ragged.ir.ops import BinaryOp, UnaryOp

Decisions = Mapping[str, bool]
"""Atomic conditions by their text, and what they are in this case."""

LEAF = "isleaf"
"""The key of the one condition that splits a program into nests of its own."""


def key(atom: Expr) -> str:
    """Return what tells one atomic condition from another: the node of a compute has many names."""
    return LEAF if isinstance(atom, IsLeaf) else atom.text()


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
            return decisions.get(key(condition))


def _join(lhs: bool | None, rhs: bool | None, *, decisive: bool) -> bool | None:
    if decisive in (lhs, rhs):
        return decisive
    return None if None in (lhs, rhs) else not decisive
