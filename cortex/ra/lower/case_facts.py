"""What a case of a specialized program knows of its nodes: truths of conditions, and values of integers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from cortex.ilir.classes import Comparison, NodeClass
from cortex.ilir.plan import Plan
from cortex.ra.expr import (
    BinaryExpr,
    Expr,
    IsLeaf,
    Literal,
    NumChildren,
    Read,
    UnaryExpr,
    operands,
)
from cortex.ra.facts import truth
from cortex.ra.node import NodeVar
from cortex.ra.tensor import NodeInput
from cortex.ra.walk import subexpressions
from ragged.arith.intervals import INVERSE, MIRROR, bound, compare, hull, meet
from ragged.ir.dtype import INDEX
from ragged.ir.ops import BinaryOp, UnaryOp

LEAF = "isleaf"
"""The key of the condition that separates leaves from inner nodes."""


@dataclass(frozen=True, slots=True)
class IntegerSet:
    """Integers from `low` to `high`, both included, except those in `without`."""

    low: float = -math.inf
    high: float = math.inf
    without: frozenset[int] = frozenset()

    def given(self, op: BinaryOp, value: int) -> IntegerSet:
        """Return the subset for which `op value` holds."""
        low, high = meet((self.low, self.high), bound(op, (value, value)))
        without = self.without | {value} if op is BinaryOp.NE else self.without
        while low in without:
            low += 1
        while high in without:
            high -= 1
        return IntegerSet(low, high, without)

    def answer(self, op: BinaryOp, value: int) -> bool | None:
        """Return the truth of `op value` for all of them, or None if it varies."""
        if op in (BinaryOp.EQ, BinaryOp.NE) and value in self.without:
            return op is BinaryOp.NE
        return compare(op, (self.low, self.high), (value, value))

    @property
    def only(self) -> int | None:
        """The integer if there is exactly one, else None."""
        return int(self.low) if self.low == self.high else None


_LEAF, _INNER = IntegerSet(0, 0), IntegerSet(1, math.inf)
"""The numbers of children."""


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """What is known in a case.

    `answers` are truths of atomic conditions by `condition_key`. `values` are the possible values of
    scalar integer payloads by name, and of the number of children under None; others are not tracked. `tested` are the
    comparisons that led here, each as it holds.
    """

    answers: Mapping[Hashable, bool] = field(default_factory=dict)
    values: Mapping[str | None, IntegerSet] = field(default_factory=dict)
    tested: tuple[Comparison, ...] = ()

    @property
    def leaf(self) -> bool | None:
        """Whether the nodes are leaves, None if unknown."""
        return self.answers.get(LEAF)

    def given(self, condition: Expr, answer: bool) -> CaseFacts:
        """Return what is known where an atomic condition has that truth."""
        key, check = condition_key(condition), comparison(condition)
        known = replace(self, answers={**self.answers, key: answer})
        if key == LEAF and None in self.values:
            return known.compared(Comparison(None, BinaryOp.EQ, 0), answer, ask=False)
        if check is not None and self.values:
            return known.compared(check, answer)
        if check is not None and separates_leaves(canonical(check)):
            is_leaf = _LEAF.answer(check.op, check.value) is answer
            return replace(known, answers={**known.answers, LEAF: is_leaf})
        return known

    def compared(self, check: Comparison, answer: bool, *, ask: bool = True) -> CaseFacts:
        """Return what is known where a comparison has that truth."""
        op = check.op if answer else INVERSE[check.op]
        values = self.values[check.payload].given(op, check.value)
        tested = (*self.tested, replace(check, op=op)) if ask else self.tested
        answers = dict(self.answers)
        if check.payload is None and (values.high == 0 or values.low > 0):
            answers[LEAF] = values.high == 0
        return CaseFacts(answers, {**self.values, check.payload: values}, tested)

    def truth(self, condition: Expr) -> bool | None:
        """Return the value of a condition in the case, or None if it may be either."""
        return truth(condition, self._atom)

    def _atom(self, atom: Expr) -> bool | None:
        check = comparison(atom)
        answer = None if check is None else self.answer(check)
        return self.answers.get(condition_key(atom)) if answer is None else answer

    def answer(self, check: Comparison) -> bool | None:
        """Return the truth of a comparison, or None if it may be either."""
        values = self.values.get(check.payload)
        if values is None and check.payload is None and self.leaf is not None:
            values = _LEAF if self.leaf else _INNER
        return None if values is None else values.answer(check.op, check.value)

    def constant(self, expr: Expr) -> int | None:
        """Return the integer to which the comparisons restrict an expression, or None."""
        name, found = subject(expr)
        return self.number(name) if found else None

    def number(self, name: str | None) -> int | None:
        """Return the integer to which the comparisons restrict a payload or the number of children, or None."""
        return self.values[name].only if any(each.payload == name for each in self.tested) else None

    def node_class(self) -> NodeClass:
        """Return the linearizer's class of this case: an equality where one value is left."""
        names = dict.fromkeys(each.payload for each in self.tested)
        conditions: list[Comparison] = []
        for name in names:
            only = self.values[name].only
            if only is not None:
                conditions.append(Comparison(name, BinaryOp.EQ, only))
            else:
                conditions += [each for each in self.tested if each.payload == name]
        return NodeClass(self.leaf is True, tuple(conditions))


def node_values(plan: Plan, leaf: bool | None) -> dict[str | None, IntegerSet]:
    """Return the possible values at leaves, inner nodes, or all nodes of structures that a plan allows."""
    most = math.inf if plan.most_children is None else plan.most_children
    count = IntegerSet(0 if leaf is not False else max(1, plan.min_children), 0 if leaf else most)
    found: dict[str | None, IntegerSet] = {None: count}
    for payload in plan.payloads:
        if payload.dtype.is_int and not payload.shape:
            ends = [payload.interval(leaf=one) for one in ((True, False) if leaf is None else (leaf,))]
            low, high = (
                (-math.inf, math.inf) if None in ends else hull(end for end in ends if end is not None)
            )
            found[payload.name] = IntegerSet(low, high if None in ends else high - 1)
    return found


def subject(expr: Expr) -> tuple[str | None, bool]:
    """Return the payload of its own node that an expression reads (None: number of children), and whether it does."""
    match expr:
        case NumChildren(node=NodeVar()):
            return None, True
        case Read(tensor=NodeInput(name=name), indices=(NodeVar(),), dtype=dtype) if dtype is INDEX:
            return name, True
        case _:
            return None, False


def comparison(condition: Expr) -> Comparison | None:
    """Return a condition as a comparison of a payload, or the number of children, with a constant."""
    match condition:
        case IsLeaf(node=NodeVar()):
            return Comparison(None, BinaryOp.EQ, 0)
        case BinaryExpr(op=op, lhs=lhs, rhs=Literal(value=value)) if op.is_comparison and subject(lhs)[1]:
            return Comparison(subject(lhs)[0], op, int(value))
        case BinaryExpr(op=op, lhs=Literal(value=value), rhs=rhs) if op.is_comparison and subject(rhs)[1]:
            return Comparison(subject(rhs)[0], MIRROR[op], int(value))
        case _:
            return None


def canonical(check: Comparison) -> Comparison:
    """Return the equivalent or opposite comparison in the form `==` or `>=`."""
    match check.op:
        case BinaryOp.EQ | BinaryOp.GE:
            return check
        case BinaryOp.NE | BinaryOp.LT:
            return replace(check, op=INVERSE[check.op])
        case _:
            return replace(check, op=BinaryOp.GE, value=check.value + 1)


def separates_leaves(check: Comparison) -> bool:
    """Return whether a canonical comparison separates leaves from all other nodes."""
    return check in (Comparison(None, BinaryOp.EQ, 0), Comparison(None, BinaryOp.GE, 1))


def condition_key(atom: Expr) -> Hashable | None:
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
            parts = tuple(condition_key(operand) for operand in operands(atom))
            return None if None in parts else (op, *parts)
        case _:
            return None


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


def tests_payload(condition: Expr) -> bool:
    """Return whether a condition depends on a payload."""
    return any(isinstance(e, Read) and isinstance(e.tensor, NodeInput) for e in subexpressions(condition))
