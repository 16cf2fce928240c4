"""The question whether two accesses, each in an iteration of its own, are of different elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial, reduce

from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Const, Expr, Ref, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import variables


def elements_differ(
    indices: Sequence[tuple[Expr, Expr]],
    relation: Sequence[Expr],
    extents: Mapping[Var, Expr],
    conditions: Sequence[Expr],
) -> Expr:
    """Return that the indices of two accesses differ in some dimension, if all of `relation` holds.

    Dimensions with an independent index on each side are left out: accesses of buffers of different rank then ask one
    question. `extents` are those of the loops, `conditions` what else holds. Without indices the relation has to be
    false.

    The relation is part of what is asked, not conditions: a prover may leave out a condition that shares no variable
    with the goal, and two accesses of `x[0]` share none with what makes their iterations impossible.
    """
    occurrences = Counter(
        var for expr in (*relation, *conditions, *extents.values()) for var in variables(expr)
    )
    occurrences.update(var for pair in indices for index in pair for var in variables(index))
    goals: list[Expr] = [
        Binary(BinaryOp.NE, first, second)
        for first, second in indices
        if not all(_is_independent(index, extents, occurrences) for index in (first, second))
    ]
    goal = reduce(partial(Binary, BinaryOp.OR), goals) if goals else Const(False, DType.BOOL)
    for condition in relation:
        goal = Binary(BinaryOp.OR, Unary(UnaryOp.NOT, condition), goal)
    return goal


def _is_independent(index: Expr, extents: Mapping[Var, Expr], occurrences: Mapping[Var, int]) -> bool:
    """Return whether an index is the variable of a loop with iterations, and occurs nowhere else: it may be 0."""
    if not isinstance(index, Ref) or occurrences[index.var] > 1:
        return False
    extent = extents.get(index.var)
    return isinstance(extent, Const) and extent.value > 0
