"""What is known of integers and conditions at a site: intervals, and true, false or unknown.

Answers are over-approximations: only what is proven impossible is excluded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from cortex.ra.expr import BinaryExpr, Expr, IndexVar, IsLeaf, Literal, NumChildren, Read, UnaryExpr, Where
from cortex.ra.node import ChildAt, Node, NodeVar
from cortex.ra.sites import Guard
from ragged.arith.intervals import (
    ANYTHING,
    INVERSE,
    MIRROR,
    Interval,
    binary,
    bound,
    compare,
    hull,
    meet,
    unary,
)
from ragged.ir.dtype import INDEX
from ragged.ir.ops import BinaryOp, UnaryOp


def value_key(expr: Expr | Node) -> object:
    """Return a key that is equal for two expressions of the same value."""
    match expr:
        case Read(tensor=tensor, indices=indices):
            return (tensor, *(value_key(index) for index in indices))
        case ChildAt(node=node, position=position):
            return (value_key(node), position)
        case BinaryExpr(op=op, lhs=lhs, rhs=rhs):
            return (op, value_key(lhs), value_key(rhs))
        case Literal(value=value):
            return value
        case NumChildren(node=node):
            return (NumChildren, value_key(node))
        case _:
            return expr


def truth(condition: Expr, atom: Callable[[Expr], bool | None]) -> bool | None:
    """Return the value of a condition in three-valued logic; `atom` gives the values of its atomic conditions."""
    match condition:
        case UnaryExpr(op=UnaryOp.NOT, operand=operand):
            inner = truth(operand, atom)
            return None if inner is None else not inner
        case BinaryExpr(op=BinaryOp.AND | BinaryOp.OR as op, lhs=lhs, rhs=rhs):
            decisive, sides = op is BinaryOp.OR, (truth(lhs, atom), truth(rhs, atom))
            return decisive if decisive in sides else None if None in sides else not decisive
        case _:
            return atom(condition)


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """What is known at a site: the number of children of `node`, and intervals of expressions by their `key`."""

    node: NodeVar
    children: Interval = (0, math.inf)
    known: Mapping[object, Interval] = field(default_factory=dict)

    def interval(self, expr: Expr) -> Interval:
        """Return an interval that contains the value of an integer expression."""
        match expr:
            case Literal(value=value):
                own: Interval = (value, value)
            case IndexVar(extent=extent):
                own = (0, extent - 1)
            case NumChildren(node=node):
                own = self.children if node is self.node else (0, math.inf)
            case UnaryExpr(op=op, operand=operand):
                own = unary(op, self.interval(operand))
            case BinaryExpr(op=op, lhs=lhs, rhs=rhs):
                own = binary(op, self.interval(lhs), self.interval(rhs))
            case Where(condition=condition, if_true=if_true, if_false=if_false):
                branches = ((if_true, True), (if_false, False))
                own = hull(self.given(condition, taken).interval(e) for e, taken in branches)
            case _:
                own = ANYTHING
        return meet(own, self.known.get(value_key(expr), ANYTHING))

    @property
    def reachable(self) -> bool:
        """Whether any values are left: guards that contradict each other leave none."""
        return all(low <= high for low, high in self.known.values())

    def truth(self, condition: Expr) -> bool | None:
        """Return the value of a condition, or None if it may be either."""
        return truth(condition, self._atom)

    def _atom(self, condition: Expr) -> bool | None:
        match condition:
            case Literal(value=value):
                return bool(value)
            case IsLeaf(node=node) if node is self.node:
                return compare(BinaryOp.EQ, self.children, (0, 0))
            case BinaryExpr(op=op, lhs=lhs, rhs=rhs) if op.is_comparison and lhs.dtype is INDEX:
                return compare(op, self.interval(lhs), self.interval(rhs))
            case _:
                return None

    def allows(self, guards: Iterable[Guard]) -> bool:
        """Return whether all the guards may hold."""
        return all(self.truth(condition) in (None, holds) for condition, holds in guards)

    def given(self, condition: Expr, holds: bool = True) -> SiteFacts:
        """Return what is known where the condition is `holds`."""
        known = dict(self.known)
        for op, lhs, rhs in _comparisons(condition, holds):
            for this, sign, other in ((lhs, op, rhs), (rhs, MIRROR[op], lhs)):
                limit = meet(self.interval(this), bound(sign, self.interval(other)))
                known[value_key(this)] = meet(known.get(value_key(this), ANYTHING), limit)
        return replace(self, known=known)

    def under(self, guards: Iterable[Guard]) -> SiteFacts:
        """Return what is known where all the guards hold."""
        facts = self
        for condition, holds in guards:
            facts = facts.given(condition, holds)
        return facts


def _comparisons(condition: Expr, holds: bool) -> Iterator[tuple[BinaryOp, Expr, Expr]]:
    """Yield comparisons of integers that are true where the condition is `holds`."""
    match condition:
        case UnaryExpr(op=UnaryOp.NOT, operand=operand):
            yield from _comparisons(operand, not holds)
        case BinaryExpr(op=BinaryOp.AND | BinaryOp.OR as op, lhs=lhs, rhs=rhs):
            if holds == (op is BinaryOp.AND):
                yield from _comparisons(lhs, holds)
                yield from _comparisons(rhs, holds)
        case BinaryExpr(op=op, lhs=lhs, rhs=rhs) if op.is_comparison and lhs.dtype is INDEX:
            yield op if holds else INVERSE[op], lhs, rhs
