"""The question whether two accesses, each in an iteration of its own, touch different elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial, reduce

from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Const, Expr, Ref, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import variables

Places = Sequence[tuple[Expr, Expr]]
"""The indices of two accesses, dimension by dimension."""


def apart(
    places: Places, relation: Sequence[Expr], extents: Mapping[Var, Expr], conditions: Sequence[Expr]
) -> Expr:
    """Return that indices differ in some dimension where all of `relation` holds.

    Dimensions that cannot tell elements apart are left out, so that buffers of other dimensions than the nodes' ask the
    same. `extents` are those of the loops, `conditions` what else holds. Without places the relation has to be false.

    The relation is part of what is asked, not conditions: a prover may leave out a condition that shares no variable
    with the goal, and two accesses of `x[0]` share none with what makes their iterations impossible.
    """
    said = Counter(var for expr in (*relation, *conditions, *extents.values()) for var in variables(expr))
    said.update(var for place in places for index in place for var in variables(index))
    goals: list[Expr] = [
        Binary(BinaryOp.NE, here, there)
        for here, there in places
        if not all(_is_free(index, extents, said) for index in (here, there))
    ]
    goal = reduce(partial(Binary, BinaryOp.OR), goals) if goals else Const(False, DType.BOOL)
    for condition in relation:
        goal = Binary(BinaryOp.OR, Unary(UnaryOp.NOT, condition), goal)
    return goal


def _is_free(index: Expr, extents: Mapping[Var, Expr], said: Mapping[Var, int]) -> bool:
    """Return whether an index is a loop's variable that nothing else depends on: whatever else is so, it may be 0."""
    return isinstance(index, Ref) and said[index.var] == 1 and isinstance(extents.get(index.var), Const)
