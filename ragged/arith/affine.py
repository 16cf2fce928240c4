"""Affine forms: a constant plus integer multiples of terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ragged.arith.fold import plus, times
from ragged.ir.expr import Binary, Const, Expr, Ref, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import subexpressions


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

    def recombined(self) -> AffineForm:
        """Return the same sum with `x` in place of `x // c * c + x % c`, also of multiples of these."""
        result = self
        for term, coefficient in self.terms.items():
            match term:
                case Binary(op=BinaryOp.MOD, lhs=whole, rhs=by):
                    multiple = affine(times(Binary(BinaryOp.FLOORDIV, whole, by), by))
                    parts = AffineForm({term: coefficient}).plus(multiple, coefficient)
                    if parts.terms.items() <= result.terms.items():
                        result = result.plus(parts, -1).plus(affine(whole), coefficient)
                case _:
                    pass
        return result

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


def growth(index: Expr, var: Var) -> int | None:
    """Return the coefficient of a variable in an index; None if the index is not affine in it."""
    return growth_of(affine(index), var)


def growth_of(form: AffineForm, var: Var) -> int | None:
    """Return the coefficient of a variable in a form; None if another term depends on it."""
    terms = form.terms
    if any(term != Ref(var) and Ref(var) in subexpressions(term) for term in terms):
        return None
    return terms.get(Ref(var), 0)
