"""Comparisons of an index as the place at which their outcome changes."""

from __future__ import annotations

from ragged.arith.affine import AffineForm, affine
from ragged.ir.expr import Binary, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.walk import mentions


def threshold(condition: Expr, var: Var) -> tuple[Expr, bool] | None:
    """Return the number from which on a comparison of a variable holds, and True, or up to which, and False.

    The number itself is the first for which it holds, or the first for which it does not. None if the condition is no
    `<`, `<=`, `>` or `>=` of a sum in which the variable stands once, added or subtracted.
    """
    match condition:
        case Binary(op=BinaryOp.LT | BinaryOp.LE | BinaryOp.GT | BinaryOp.GE as op, lhs=lhs, rhs=rhs) if (
            lhs.dtype.is_int
        ):
            form = affine(lhs).plus(affine(rhs), -1)
        case _:
            return None
    step, rest = form.terms.get(Ref(var)), form.plus(form.only([Ref(var)]), -1)
    if step not in (1, -1) or mentions(rest.expr, (var,)):
        return None
    holds_after = (op in (BinaryOp.GT, BinaryOp.GE)) is (step == 1)
    # var + rest < 0 up to -rest, `<=` up to one more; rest - var < 0 from rest + 1 on, `<=` from one less on
    one_more = op in (BinaryOp.LE, BinaryOp.GT) if step == 1 else op in (BinaryOp.LT, BinaryOp.GE)
    return AffineForm(constant=int(one_more)).plus(rest, -step).expr, holds_after
