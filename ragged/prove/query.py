"""One question as the solver has it: terms in a context of its own, and what the solver says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from ragged.ir.expr import Var
from ragged.ir.fact import Fact
from ragged.ir.ops import BinaryOp
from ragged.prove.answers import Answer, Proof, Refuted
from ragged.prove.axioms import instances
from ragged.prove.context import Context, relevant
from ragged.prove.question import Question
from ragged.prove.terms import Term, Translator, combined

_ROUNDS = 3
_SMALL = (1, 2, 4, 8)
_TIMEOUT_MS = 3_000
"""Milliseconds after which the solver ends a check: its effort is not counted in all that it does with products."""


@dataclass(slots=True)
class Query:
    """A question and the facts that may be used, translated into a context that nothing else is in."""

    question: Question
    facts: Sequence[Fact]
    to: Translator = field(default_factory=Translator)
    place: list[tuple[Var, Term]] = field(init=False)
    conditions: list[Term] = field(init=False)
    refuted: Term = field(init=False)
    axioms: dict[Fact, list[Term]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.place = self._place(self.question.about)
        self.conditions = [self.to.term(condition) for condition in self.question.about.conditions]
        self.refuted = z3.Not(self.to.term(self.question.goal))

    @property
    def asserted(self) -> list[Term]:
        """What holds where the goal does not."""
        return [*(term for _, term in self.place), *self.conditions, self.refuted, *self.to.known]

    def alone(self, effort: int) -> Proof | None:
        """Prove the goal without any fact, if so little does: most goals are about places of one tile."""
        solver = self._limited(effort)
        solver.add(*self.asserted)
        return Proof(frozenset()) if solver.check() == z3.unsat else None

    def answer(self, effort: int) -> Answer:
        """Return what is found with what the facts say of the calls that occur."""
        mentioned = list(self.to.calls)
        for _ in range(_ROUNDS):
            calls = tuple(self.to.calls.values())
            self.axioms = {fact: list(instances(fact, calls, self.to)) for fact in self.facts}
            solver, uses = self._solver(effort)
            before = _spent(solver)
            found = solver.check(*uses.values())
            if found == z3.unsat or len(self.to.calls) == len(calls):
                break
        if found == z3.unsat:
            return Proof(_least(solver, uses, _spent(solver) - before))
        if found == z3.sat:
            return Refuted("counterexample", self._example(solver, uses, mentioned))
        out_of_effort = solver.reason_unknown() in ("canceled", "max. resource limit exceeded")
        return Refuted("resource limit" if out_of_effort else "undecided")

    def needed(self, facts: Collection[Fact], effort: int) -> tuple[int, ...] | None:
        """Return positions of conditions that suffice for a proof by these facts where the goal's own loops run.

        None if they are not found, or if the proof needs that loops run which conditions alone speak of.
        """
        about = self.question.about
        alone = relevant(self.question.goal, about.loops, about.lets, ())
        own = {var for var, _ in (*alone.loops, *alone.lets)}
        solver = self._limited(effort)
        solver.add(*(term for fact, instance in self.axioms.items() if fact in facts for term in instance))
        solver.add(*(term for var, term in self.place if var in own), self.refuted, *self.to.known)
        further = z3.Bool("further", self.to.context)
        solver.add(*(z3.Implies(further, term) for var, term in self.place if var not in own))
        uses = [z3.Bool(f"condition!{k}", self.to.context) for k in range(len(self.conditions))]
        solver.add(*map(z3.Implies, uses, self.conditions))
        if solver.check(further, *uses) != z3.unsat:
            return None
        core = {term.get_id() for term in solver.unsat_core()}
        if further.get_id() in core:
            return None
        return tuple(k for k, use in enumerate(uses) if use.get_id() in core)

    def _limited(self, effort: int) -> Any:
        """Return a solver of which each check ends after so much effort."""
        solver = z3.SimpleSolver(ctx=self.to.context)
        solver.set("rlimit", effort)
        solver.set("timeout", _TIMEOUT_MS)
        return solver

    def _solver(self, effort: int) -> tuple[Any, dict[Fact, Term]]:
        """Return a solver, and for each fact that says something the Boolean that makes it hold."""
        solver = self._limited(effort)
        solver.add(*self.asserted)
        uses = {}
        for number, fact in enumerate(fact for fact, instance in self.axioms.items() if instance):
            uses[fact] = z3.Bool(f"fact!{number}", self.to.context)
            solver.add(z3.Implies(uses[fact], self.to.every(self.axioms[fact])))
        return solver, uses

    def _place(self, about: Context) -> list[tuple[Var, Term]]:
        """Return what holds of the variables where the goal stands."""
        place = []
        for var, extent in about.loops:
            place += [(var, term) for term in self.to.within(self.to.var(var), self.to.term(extent))]
        for var, value in about.lets:
            place.append((var, combined(BinaryOp.EQ, self.to.var(var), self.to.term(value))))
        return place

    def _example(
        self, solver: Any, uses: dict[Fact, Term], mentioned: Sequence[tuple[object, ...]]
    ) -> tuple[tuple[Var | str, str], ...]:
        """Return the variables and calls of a counterexample, of small numbers if there is such a one."""
        calls = [self.to.calls[key] for key in mentioned]
        integers = [
            term for term in (*self.to.vars.values(), *(call.value for call in calls)) if z3.is_int(term)
        ]
        model = solver.model()
        for bound in _SMALL:
            solver.push()
            solver.add(*(z3.And(term >= -bound, term <= bound) for term in integers))
            if solver.check(*uses.values()) == z3.sat:
                model = solver.model()
                break
            solver.pop()

        def value(term: Term) -> str:
            return str(model.eval(term, model_completion=True))

        parts: list[tuple[Var | str, str]] = [
            (var, value(term)) for var, term in self.to.vars.items() if not var.dtype.is_float
        ]
        for call in sorted(calls, key=lambda call: bool(call.args)):  # sizes first
            args = f"({', '.join(value(arg) for arg in call.args)})" if call.args else ""
            parts.append((f"{call.function.name}{args}", value(call.value)))
        return tuple(parts)


def _spent(solver: Any) -> int:
    """Return what the solver's context has done so far, in the units of its limit."""
    return next((int(value) for name, value in solver.statistics() if name == "rlimit count"), 0)


def _least(solver: Any, uses: dict[Fact, Term], effort: int) -> frozenset[Fact]:
    """Return a set of facts that suffices, without each that `effort` shows to be unnecessary.

    That is what the proof with all of them took: to find that a goal does not hold without a fact may take much more.
    """
    solver.set("rlimit", effort)
    core = {term.get_id() for term in solver.unsat_core()}
    needed = {fact: term for fact, term in uses.items() if term.get_id() in core}
    for fact in tuple(needed):
        others = [term for other, term in needed.items() if other is not fact]
        if solver.check(*others) == z3.unsat:
            del needed[fact]
    return frozenset(needed)
