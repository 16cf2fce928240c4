"""Formulas: quantified implications over bounded variables, which say what a fact means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ragged.errors import InternalError
from ragged.ir.build import within
from ragged.ir.expr import Binary, Call, Const, Expr, Function, Ref, Var
from ragged.ir.ops import BinaryOp

ZERO, ONE = Const(0), Const(1)

Bounds: TypeAlias = tuple[Expr, Expr]
"""The least value, and a number that every value is below."""


@dataclass(frozen=True, slots=True)
class Each:
    """A bound variable: it takes every value that all of `ranges` allow. They may use the variables before it."""

    var: Var
    ranges: tuple[Bounds, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A condition that has to hold; `message` says what is wrong where it does not, with `{0}` for `witness[0]`."""

    condition: Expr
    message: str
    witness: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Trigger:
    """The prover instantiates `variables` with the arguments of every call of one of `functions` that occurs.

    Without variables it asks only that one of `functions` is called.
    """

    functions: tuple[Function, ...]
    variables: tuple[Var, ...] = ()


@dataclass(frozen=True, slots=True)
class Forall:
    """For all values of the variables where `given` holds, the claims hold.

    A range, a condition or a claim may evaluate only what is in the domains of its functions where the ranges,
    conditions and claims before it hold; a call elsewhere makes the formula false. The prover instantiates the formula
    for each combination of what the triggers match; one without triggers is left to a lemma.
    """

    variables: tuple[Each, ...]
    claims: tuple[Claim, ...]
    triggers: tuple[Trigger, ...] = ()
    given: Expr | None = None


def every(*conditions: Expr) -> Expr:
    """Return the conjunction of one condition or more, each once."""
    first, *others = dict.fromkeys(conditions)
    for other in others:
        first = Binary(BinaryOp.AND, first, other)
    return first


def compare(lhs: Expr, op: BinaryOp, rhs: Expr) -> Expr:
    """Return `lhs op rhs`."""
    return Binary(op, lhs, rhs)


def extent(function: Function) -> Expr:
    """Return the extent of a function of one parameter."""
    if len(function.params) != 1:
        raise InternalError(f"'{function.name}' has {len(function.params)} parameters, not one")
    return function.params[0].extent


def at(function: Function, arg: Expr | Var) -> Call:
    """Return the value of a function of one parameter."""
    extent(function)
    return Call(function, (Ref(arg) if isinstance(arg, Var) else arg,))


def domain(*functions: Function) -> tuple[Bounds, ...]:
    """Return the ranges of the arguments that functions of one parameter have in common."""
    return tuple(dict.fromkeys((ZERO, extent(function)) for function in functions))


def inside(arg: Expr, functions: Sequence[Function]) -> Expr:
    """Return the condition that an argument is in the domain of each function of one parameter."""
    return every(*(within(arg, low, high) for low, high in domain(*functions)))
