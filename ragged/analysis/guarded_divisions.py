"""Divisions in a choice of a loop, of which LLVM's vectorizer of loops makes wrong code."""

from __future__ import annotations

from ragged.analysis.faults import is_lazy
from ragged.ir.expr import Binary, Const, Expr, Select
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.sites import sites
from ragged.ir.walk import held, subexpressions


def divides_in_choice(program: Program) -> bool:
    """Return whether a loop divides integers by no number in one of two values between which it branches.

    Where such a division is the same in all iterations, LLVM's vectorizer makes it only if the condition holds in the
    first lane: in `x[d % n] if d == e else 0.0`, it takes `e % n` for `d % n`.
    """
    return any(
        isinstance(part, Select) and is_lazy(part) and any(map(_divides, (part.if_true, part.if_false)))
        for site in sites(program)
        if site.loops
        for expr in held(site.stmt)
        for part in subexpressions(expr)
    )


def _divides(value: Expr) -> bool:
    return any(map(_is_division, subexpressions(value)))


def _is_division(expr: Expr) -> bool:
    match expr:
        case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD, rhs=rhs):
            return not isinstance(rhs, Const) and rhs.dtype.is_int
        case _:
            return False
