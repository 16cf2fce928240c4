"""Sums of multiples of indices in ranges: their bounds, and of what they are multiples."""

from __future__ import annotations

from collections.abc import Mapping

from ragged.arith.affine import AffineForm, affine
from ragged.ir.expr import Binary, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.walk import variables
from ragged.tc.checked import IndexRange


def bounds_in(form: AffineForm, known: Mapping[Var, IndexRange]) -> IndexRange | None:
    """Return the range of a sum of multiples of indices in ranges; None if it is none."""
    lower = upper = AffineForm(constant=form.constant)
    for term, factor in form.terms.items():
        own = known.get(term.var) if isinstance(term, Ref) else None
        if variables(*((own.lower, own.upper) if own else (term,))) & known.keys():
            return None
        ends = (
            (affine(own.lower), affine(own.upper).plus(AffineForm(constant=-1)))
            if own
            else (affine(term),) * 2
        )
        low, high = ends if factor > 0 else reversed(ends)
        lower, upper = lower.plus(low, factor), upper.plus(high, factor)
    return IndexRange(lower.expr, upper.plus(AffineForm(constant=1)).expr)


def is_multiple(count: Expr, by: Expr) -> bool:
    """Return whether a number is a multiple of another one as it stands, as `T * D` and `2 * D` are of D."""
    terms = affine(count).terms
    return bool(terms) and all(
        term == by or (isinstance(term, Binary) and term.op is BinaryOp.MUL and by in (term.lhs, term.rhs))
        for term in terms
    )
