"""The loops, lets and conditions around a place in a program, and those that a goal depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragged.ir.expr import Expr, Var
from ragged.ir.walk import variables


@dataclass(frozen=True, slots=True)
class Context:
    """The loops (variable, extent), the lets (variable, value), and the conditions that hold."""

    loops: tuple[tuple[Var, Expr], ...] = ()
    lets: tuple[tuple[Var, Expr], ...] = ()
    conditions: tuple[Expr, ...] = ()


def relevant(
    goal: Expr,
    loops: Sequence[tuple[Var, Expr]],
    lets: Sequence[tuple[Var, Expr]],
    conditions: Sequence[Expr],
) -> Context:
    """Return the part of a context that mentions the goal's variables, directly or through other parts.

    Conditions without variables are kept. Leaving out the rest loses proofs at most.
    """
    bound: dict[Var, frozenset[Var]] = {}
    for var, expr in (*loops, *lets):
        bound[var] = bound.get(var, frozenset()) | variables(expr)
    owned = [(condition, variables(condition)) for condition in conditions]
    names, reached = set[Var](), set(variables(goal))
    while reached:
        names |= reached
        said = [bound.get(var, frozenset()) for var in reached]
        said += [own for _, own in owned if not own.isdisjoint(names)]
        reached = set[Var]().union(*said) - names
    return Context(
        tuple(pair for pair in loops if pair[0] in names),
        tuple(pair for pair in lets if pair[0] in names),
        tuple(condition for condition, own in owned if not own or not own.isdisjoint(names)),
    )
