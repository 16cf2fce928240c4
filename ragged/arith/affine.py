"""Affine forms: a constant plus integer multiples of terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ragged.arith.fold import floordiv, modulo, plus, times
from ragged.ir.expr import Binary, Const, Expr, Ref, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import subexpressions

Bounds: TypeAlias = tuple[int, int]
"""The least and the greatest value of an expression that has both."""

Extents: TypeAlias = Mapping[Var, int]
"""For loops' variables, a number that each stays below; none is negative."""


@dataclass(frozen=True, slots=True)
class AffineForm:
    """`constant` plus each term's expression times its coefficient, which is not zero."""

    terms: Mapping[Expr, int] = field(default_factory=dict)
    constant: int = 0

    def plus(self, other: AffineForm, scale: int = 1) -> AffineForm:
        """Return `self + scale * other`."""
        terms = dict(self.terms)
        for term, coefficient in other.terms.items():
            terms[term] = terms.get(term, 0) + scale * coefficient
        kept = {term: coefficient for term, coefficient in terms.items() if coefficient}
        return AffineForm(kept, self.constant + scale * other.constant)

    def only(self, terms: Iterable[Expr]) -> AffineForm:
        """Return the sum of these terms alone, without the constant."""
        chosen = set(terms)
        return AffineForm({term: c for term, c in self.terms.items() if term in chosen})

    @property
    def expr(self) -> Expr:
        """The sum as an expression."""
        total: Expr = Const(0)
        for term, coefficient in self.terms.items():
            if coefficient > 0:
                total = plus(total, times(term, Const(coefficient)))
            else:
                total = Binary(BinaryOp.SUB, total, times(term, Const(-coefficient)))
        if self.constant < 0 and self.terms:
            return Binary(BinaryOp.SUB, total, Const(-self.constant))
        return plus(total, Const(self.constant))

    def interval(self, extents: Extents) -> Bounds | None:
        """Return bounds of the form for variables below their extents; None if a term has no bounds."""
        return self.bounds(lambda term: interval(term, extents))

    def bounds(self, bounds_of: Callable[[Expr], Bounds | None]) -> Bounds | None:
        """Return bounds of the form, given those of its terms; None if a term has none."""
        low = high = self.constant
        for term, coefficient in self.terms.items():
            bounds = bounds_of(term)
            if bounds is None:
                return None
            ends = sorted((coefficient * bounds[0], coefficient * bounds[1]))
            low, high = low + ends[0], high + ends[1]
        return low, high


def affine(expr: Expr) -> AffineForm:
    """Return the affine form of an expression; every other operator, and a constant of another type, is a term."""
    match expr:
        case Const(value=value, dtype=dtype) if dtype.is_int:
            return AffineForm(constant=int(value))
        case Binary(op=BinaryOp.ADD, lhs=lhs, rhs=rhs):
            return affine(lhs).plus(affine(rhs))
        case Binary(op=BinaryOp.SUB, lhs=lhs, rhs=rhs):
            return affine(lhs).plus(affine(rhs), -1)
        case Unary(op=UnaryOp.NEG, operand=operand):
            return AffineForm().plus(affine(operand), -1)
        case Binary(op=BinaryOp.MUL, lhs=lhs, rhs=rhs):
            a, b = affine(lhs), affine(rhs)
            if not a.terms or not b.terms:
                number, rest = (a, b) if not a.terms else (b, a)
                return AffineForm().plus(rest, number.constant)
            return AffineForm({expr: 1})
        case _:
            return AffineForm({expr: 1})


def interval(expr: Expr, extents: Extents) -> Bounds | None:
    """Return bounds of an index expression for variables below their extents; None if there are none."""
    match expr:
        case Ref(var=var):
            return (0, extents[var] - 1) if extents.get(var, 0) > 0 else None
        case Binary(op=BinaryOp.MOD, rhs=Const(value=by)) if by > 0:
            return 0, int(by) - 1
        case Binary(op=BinaryOp.FLOORDIV, lhs=lhs, rhs=Const(value=by)) if by > 0:
            bounds = interval(lhs, extents)
            return None if bounds is None else (bounds[0] // int(by), bounds[1] // int(by))
        case _:
            form = affine(expr)
            return None if expr in form.terms else form.interval(extents)


def growth(index: Expr, var: Var) -> int | None:
    """Return the coefficient of a variable in an index; None if the index is not affine in it."""
    terms = affine(index).terms
    if any(term != Ref(var) and Ref(var) in subexpressions(term) for term in terms):
        return None
    return terms.get(Ref(var), 0)


def at_most(expr: Expr, extents: Extents) -> int | None:
    """Return an upper bound of an expression for variables below their extents; None if there is none."""
    if isinstance(expr, Binary) and expr.op is BinaryOp.MIN:
        bounds = [bound for side in (expr.lhs, expr.rhs) if (bound := at_most(side, extents)) is not None]
        return min(bounds, default=None)
    if (
        isinstance(expr, Binary)
        and expr.op is BinaryOp.FLOORDIV
        and isinstance(expr.rhs, Const)
        and expr.rhs.value > 0
    ):
        most = at_most(expr.lhs, extents)
        return None if most is None else most // int(expr.rhs.value)
    form = affine(expr)
    if expr in form.terms:
        bounds_of_term = interval(expr, extents)
        return None if bounds_of_term is None else bounds_of_term[1]
    most = form.constant
    for term, coefficient in form.terms.items():
        ends = interval(term, extents)
        end = at_most(term, extents) if coefficient > 0 else None if ends is None else ends[0]
        if end is None:
            return None
        most += coefficient * end
    return most


def divided(expr: Expr, by: int, extents: Extents) -> tuple[Expr, Expr]:
    """Return `expr // by` and `expr % by`, without a division where the variables' extents allow it.

    `io * 16 + ii` divided by 16 is `io` and `ii` if `ii` stays below 16.
    """
    form = affine(expr)
    multiples = form.only(term for term, coefficient in form.terms.items() if coefficient % by == 0)
    rest = form.plus(multiples, -1)
    bounds = rest.interval(extents)
    if bounds is None or bounds[0] // by != bounds[1] // by:
        return floordiv(expr, by), modulo(expr, by)
    blocks = bounds[0] // by
    quotient = AffineForm({term: coefficient // by for term, coefficient in multiples.terms.items()}, blocks)
    return quotient.expr, rest.plus(AffineForm(constant=blocks * by), -1).expr
