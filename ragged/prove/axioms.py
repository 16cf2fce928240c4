"""What facts say of the calls that occur: instances of their formulas, without quantifiers.

An instance may be weaker than the fact, never stronger: whatever `tests.support.check_facts` lets pass satisfies all of
them (the tests compare the two on data).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragged.ir.expr import Var
from ragged.ir.fact import Fact, formulas_of
from ragged.ir.formula import Forall, Trigger
from ragged.ir.ops import BinaryOp
from ragged.prove.lemmas import LEMMAS
from ragged.prove.terms import Occurrence, Term, Translator, combined


def instances(fact: Fact, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    """Yield what `fact` says of `calls`; making the terms may note further calls in `to`."""
    for formula in formulas_of(fact):
        if formula.triggers:
            for scope in _matches(formula.triggers, calls):
                yield _instance(formula, scope, to)
    lemma = LEMMAS.get(type(fact))
    if lemma is not None:
        yield from lemma(fact, calls, to)


def _matches(triggers: Sequence[Trigger], calls: Sequence[Occurrence]) -> Iterator[dict[Var, Term]]:
    """Yield the values of variables for which each trigger matches a call that occurs, each once."""
    first, *rest = triggers
    found: dict[tuple[int, ...], dict[Var, Term]] = {}
    for call in calls:
        if call.function in first.functions:
            args = call.args if first.variables else ()
            scope = dict(zip(first.variables, args, strict=True))
            found.setdefault(tuple(arg.get_id() for arg in args), scope)
    for scope in found.values():
        if rest:
            yield from (scope | other for other in _matches(rest, calls))
        else:
            yield scope


def _instance(formula: Forall, scope: dict[Var, Term], to: Translator) -> Term:
    """Return the formula for these values of its variables; of the same values in a later round, the same term."""
    key = id(formula), *(value.get_id() for value in scope.values())
    if key not in to.instances:
        to.instances[key] = (
            formula,
            scope,
            _implication(formula, scope, to),
        )  # what the ids are of has to live
    return to.instances[key][2]


def _implication(formula: Forall, scope: dict[Var, Term], to: Translator) -> Term:
    premises = []
    for each in formula.variables:
        value = scope[each.var]
        for low, high in each.ranges:
            premises += [
                combined(BinaryOp.LE, to.term(low, scope), value),
                combined(BinaryOp.LT, value, to.term(high, scope)),
            ]
    if formula.given is not None:
        premises.append(to.term(formula.given, scope))
    claims = [to.term(claim.condition, scope) for claim in formula.claims]
    return to.implies(premises, to.every(claims))
