"""Intervals of integer expressions, and what they decide: upper bounds, divisions, and truths of comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import TypeAlias

from ragged.arith.affine import AffineForm, affine
from ragged.arith.fold import floordiv, modulo
from ragged.arith.intervals import ANYTHING, Interval, binary, compare, converted, hull, unary
from ragged.ir.expr import Binary, Cast, Const, Expr, Ref, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp

Bounds: TypeAlias = tuple[int, int]
"""The least and the greatest value of an expression that has both."""

Extents: TypeAlias = Mapping[Var, int]
"""For loops' variables, a number that each stays below; none is negative."""

Known: TypeAlias = Callable[[Var], Interval | None]
"""Returns the interval of a variable, None where it is not known."""


def nothing(var: Var) -> None:
    """Return the interval of a variable where none is known."""


def below(extents: Extents) -> Known:
    """Return the intervals of loops' variables."""
    return lambda var: (0, extents[var] - 1) if extents.get(var, 0) > 0 else None


def interval_of(expr: Expr | AffineForm, known: Known) -> Interval:
    """Return the interval of an expression, or of a form; exact for sums of multiples of variables."""
    form = expr if isinstance(expr, AffineForm) else affine(expr)
    low: float = form.constant
    high: float = form.constant
    for term, coefficient in form.terms.items():
        ends = sorted(coefficient * end for end in _term(term, known))
        low, high = low + ends[0], high + ends[1]
    return low, high


def _term(expr: Expr, known: Known) -> Interval:
    match expr:
        case Ref(var=var):
            return known(var) or ANYTHING
        case Cast(dtype=dtype, operand=operand) if dtype.is_int and operand.dtype.is_int:
            found = interval_of(operand, known)
            return converted(dtype, found) if all(map(isfinite, found)) else ANYTHING
        case Unary(op=op, operand=operand):
            return unary(op, interval_of(operand, known))
        case Select(condition=condition, if_true=if_true, if_false=if_false):
            holds = truth_of(condition, known)
            parts = [if_true] * (holds is not False) + [if_false] * (holds is not True)
            return hull(interval_of(part, known) for part in parts)
        case Binary(op=op, lhs=lhs, rhs=rhs):
            return binary(op, interval_of(lhs, known), interval_of(rhs, known))
        case _:
            return ANYTHING


def bounds_of(expr: Expr | AffineForm, known: Known = nothing) -> Bounds | None:
    """Return the interval of an expression, or of a form; None if it has no least or no greatest value."""
    low, high = interval_of(expr, known)
    return (int(low), int(high)) if isfinite(low) and isfinite(high) else None


def at_most(expr: Expr, extents: Extents) -> int | None:
    """Return an upper bound of an expression for variables below their extents; None if there is none."""
    high = interval_of(expr, below(extents))[1]
    return int(high) if isfinite(high) else None


def value_of(expr: Expr, values: Mapping[Var, int]) -> int:
    """Return the value of an expression of variables with these values."""
    low, high = interval_of(expr, lambda var: (values[var], values[var]) if var in values else None)
    assert low == high, "bounds of ranges are expressions of sizes"
    return int(low)


def truth_of(expr: Expr, known: Known = nothing) -> bool | None:
    """Return whether a condition holds for all values of the variables, or for none; None if neither is known."""
    match expr:
        case Const(value=value):
            return bool(value)
        case Unary(op=UnaryOp.NOT, operand=operand):
            inner = truth_of(operand, known)
            return None if inner is None else not inner
        case Binary(op=BinaryOp.AND | BinaryOp.OR as op, lhs=lhs, rhs=rhs):
            sides = {truth_of(lhs, known), truth_of(rhs, known)}
            decisive = op is BinaryOp.OR
            return decisive if decisive in sides else None if None in sides else not decisive
        case Binary(op=op, lhs=lhs, rhs=rhs) if op.is_comparison and lhs.dtype.is_int:
            return compare(op, interval_of(Binary(BinaryOp.SUB, lhs, rhs), known), (0, 0))
        case _:
            return None


def divided(expr: Expr, by: int, extents: Extents) -> tuple[Expr, Expr]:
    """Return `expr // by` and `expr % by`, without a division where the variables' extents allow it.

    `io * 16 + ii` divided by 16 is `io` and `ii` if `ii` stays below 16.
    """
    form = affine(expr)
    multiples = form.only(term for term, coefficient in form.terms.items() if coefficient % by == 0)
    rest = form.plus(multiples, -1)
    bounds = bounds_of(rest, below(extents))
    if bounds is None or bounds[0] // by != bounds[1] // by:
        return floordiv(expr, by), modulo(expr, by)
    blocks = bounds[0] // by
    quotient = AffineForm({term: coefficient // by for term, coefficient in multiples.terms.items()}, blocks)
    return quotient.expr, rest.plus(AffineForm(constant=blocks * by), -1).expr
