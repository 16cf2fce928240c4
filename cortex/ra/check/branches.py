"""Control flow: P.1 of CORTEX, section 2, and the types of branches."""

from __future__ import annotations

from collections.abc import Iterator

from cortex.ra.collect import Recursion
from cortex.ra.expr import BinaryExpr, Expr, IsLeaf, Literal, NumChildren, Read, UnaryExpr, operands
from cortex.ra.shapes import described
from cortex.ra.tensor import IfThenElse, NodeInput
from ragged.errors import ModelError
from ragged.ir.dtype import DType


def check_conditions_are_logical(recursion: Recursion) -> None:
    """The condition of a branch is a truth value."""
    for branch in _branches(recursion):
        if branch.condition.dtype is not DType.BOOL:
            raise ModelError(
                f"'{recursion.text(branch.condition)}' decides '{recursion.name(branch)}', and is a number",
                at=branch.at,
                fix="compare it: ra.num_children(n) == 2",
            )


def check_conditions_structural(recursion: Recursion) -> None:
    """P.1: conditions depend on the number of children and on integer payloads of the node alone.

    Both are known, as the structure is, before anything is computed: a node's type is such a payload.
    """
    for branch in _branches(recursion):
        culprit = _not_structural(branch.condition, branch)
        if culprit is not None:
            raise ModelError(
                f"'{recursion.text(branch.condition)}' decides '{recursion.name(branch)}': control flow may depend "
                "on the structure alone (P.1)",
                at=branch.condition.at,
                because=f"'{recursion.text(culprit)}' is no property of how the node is connected, and no integer "
                "that it carries",
                fix="decide by ra.isleaf(n), ra.num_children(n) or an integer payload; choose between values with "
                "ra.where",
            )


def check_branch_shapes(recursion: Recursion) -> None:
    """Both sides of a branch have its shape and one type."""
    for branch in _branches(recursion):
        for side in (branch.then, branch.orelse):
            if side.shape != branch.shape:
                raise ModelError(
                    f"'{recursion.name(branch)}' has shape {described(branch.shape)}, its branch "
                    f"'{recursion.name(side)}' {described(side.shape)}",
                    at=branch.at,
                    fix="give all three one shape",
                )
        if branch.then.dtype is not branch.orelse.dtype:
            raise ModelError(
                f"'{recursion.name(branch)}' has branches of two types",
                at=branch.at,
                because=f"'{recursion.name(branch.then)}' is of {branch.then.dtype.value}, "
                f"'{recursion.name(branch.orelse)}' of {branch.orelse.dtype.value}",
            )


def _branches(recursion: Recursion) -> Iterator[IfThenElse]:
    return (body for body in recursion.computes if isinstance(body, IfThenElse))


def _not_structural(expr: Expr, branch: IfThenElse) -> Expr | None:
    """Return a part of a condition that is neither a property of the node's children nor its integer, or None."""
    match expr:
        case Read(tensor=NodeInput(dtype=dtype), indices=(node,)) if dtype.is_int:
            return None if node is branch.node else expr
        case IsLeaf(node=node) | NumChildren(node=node):
            return None if node is branch.node else expr
        case Literal():
            return None
        case BinaryExpr() | UnaryExpr():
            found = (_not_structural(operand, branch) for operand in operands(expr))
            return next((culprit for culprit in found if culprit is not None), None)
        case _:
            return expr
