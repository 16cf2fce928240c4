"""The prover: goals over a program's loops, lets, conditions and facts."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import z3

from ragged.ir.expr import Expr, Var
from ragged.ir.fact import Fact
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.prove.axioms import instances
from ragged.prove.context import Context, relevant
from ragged.prove.linear import follows
from ragged.prove.question import Question, numbered, variable
from ragged.prove.row_major import by_rows_and_columns
from ragged.prove.terms import Term, Translator, combined

Bindings: TypeAlias = Sequence[tuple[Var, Expr]]

_ROUNDS = 3
_LITTLE = 100
"""What a question may take is so many times what is spent on it before any fact is looked at."""
_SMALL = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Proof:
    """The goal holds wherever `facts` do; none of them is left out of this proof without more effort."""

    facts: frozenset[Fact]


@dataclass(frozen=True, slots=True)
class Unproven:
    """The goal is not known to hold.

    `reason` is "counterexample" with an `example` of the variables and calls, or "resource limit", or
    "undecided". An example is consistent with the facts as far as they were looked at; data like it need
    not exist.
    """

    reason: str
    example: str | None = None


@dataclass(frozen=True, slots=True)
class Prover:
    """Proves goals of one program from its facts.

    `effort` bounds what the solver does for one question, in its own units: the same question has the same
    answer on every machine, and whatever was asked before, as each has a context of Z3 to itself: a log of a schedule
    repeats a program although refused steps asked more. What differs from an earlier question in the names of
    variables alone is not asked again: `answers` holds what was found, unless it is None.
    """

    program: Program
    effort: int = 2_000_000
    answers: dict[Question, _Answer] | None = field(default_factory=dict, repr=False, compare=False)

    def prove(
        self, goal: Expr, *, loops: Bindings = (), lets: Bindings = (), conditions: Sequence[Expr] = ()
    ) -> Proof | Unproven:
        """Prove that `goal`, a BOOL expression, holds in some place of the program.

        `loops` are the loops around it, each a variable and its extent; `lets` the variables that are bound
        to values; `conditions` the BOOL expressions that hold there. What is proven is that the goal holds
        whenever the place is reached: whether the goal's own calls lie in their domains is another goal.
        """
        about = relevant(goal, loops, lets, conditions)
        question, variables = numbered(goal, about)
        answer = self._answer(question)
        if isinstance(answer, Proof):
            for facts in _recordings()[-1:]:
                facts |= answer.facts
            return answer
        return answer.of(variables, about)

    def _answer(self, question: Question) -> _Answer:
        answer = None if self.answers is None else self.answers.get(question)
        if answer is None and follows(question):
            answer = Proof(frozenset())
        if answer is None:
            asked = _Query(question, self.program.facts, Translator(z3.Context()))
            answer = asked.alone(self.effort // _LITTLE)
            answer = answer or self._by_rows_and_columns(question) or asked.answer(self.effort)
        if self.answers is not None:
            self.answers[question] = answer
        return answer

    def _by_rows_and_columns(self, question: Question) -> Proof | None:
        """Prove that places differ without products of unknowns, if it is about such places."""
        about, simpler = question.about, by_rows_and_columns(question.goal)
        if simpler is None:
            return None
        facts: frozenset[Fact] = frozenset()
        for goal in (*simpler.bounds, simpler.goal):
            part = relevant(goal, about.loops, about.lets, about.conditions)
            answer = self._answer(numbered(goal, part)[0])
            if not isinstance(answer, Proof):
                return None
            facts |= answer.facts
        return Proof(facts)


@contextmanager
def recording() -> Iterator[set[Fact]]:
    """Give the set that the facts of every proof found meanwhile, by this thread, are put into.

    Those of a recording inside of it count if that one ended without an exception: a refused step relies on nothing.
    """
    facts: set[Fact] = set()
    _recordings().append(facts)
    try:
        yield facts
    finally:
        _recordings().pop()
    for outer in _recordings()[-1:]:
        outer |= facts


def _recordings() -> list[set[Fact]]:
    if not hasattr(_LOCAL, "recordings"):
        _LOCAL.recordings = []
    found: list[set[Fact]] = _LOCAL.recordings
    return found


def prover_of(program: Program) -> Prover:
    """Return this thread's prover for the facts of `program`: the steps of one schedule share its answers."""
    last: Prover | None = getattr(_LOCAL, "prover", None)
    if last is None or last.program.facts is not program.facts:
        last = Prover(program)
        _LOCAL.prover = last
    return last


_LOCAL = threading.local()


@dataclass(frozen=True, slots=True)
class _Refuted:
    """Why a question is not proven; an example gives numbered variables, or calls as text, and their values."""

    reason: str
    example: tuple[tuple[Var | str, str], ...] | None = None

    def of(self, variables: Sequence[Var], about: Context) -> Unproven:
        """Return the answer to a question about these variables, in the order in which the place binds them."""
        if self.example is None:
            return Unproven(self.reason)
        values = {what: value for what, value in self.example if isinstance(what, Var)}
        numbers = {var: variable(number, var.dtype) for number, var in enumerate(variables)}
        bound = (var for var, _ in (*about.loops, *about.lets))
        parts = [
            f"{var.name} = {values[numbers[var]]}"
            for var in dict.fromkeys((*bound, *variables))
            if numbers[var] in values
        ]
        parts += [f"{what} = {value}" for what, value in self.example if isinstance(what, str)]
        return Unproven(self.reason, ", ".join(dict.fromkeys(parts)))


_Answer: TypeAlias = Proof | _Refuted


@dataclass(slots=True)
class _Query:
    question: Question
    facts: Sequence[Fact]
    to: Translator
    refuted: list[Term] = field(init=False)

    def __post_init__(self) -> None:
        about = self.question.about
        place = self._place(about.loops, about.lets, about.conditions)
        self.refuted = [*place, z3.Not(self.to.term(self.question.goal))]

    def alone(self, effort: int) -> Proof | None:
        """Prove the goal without any fact, if so little does: most goals are about places of one tile."""
        solver = z3.SimpleSolver(ctx=self.to.context)
        solver.set("rlimit", effort)
        solver.add(*self.refuted, *self.to.known)
        return Proof(frozenset()) if solver.check() == z3.unsat else None

    def answer(self, effort: int) -> _Answer:
        mentioned = list(self.to.calls)
        for _ in range(_ROUNDS):
            calls = tuple(self.to.calls.values())
            axioms = {fact: list(instances(fact, calls, self.to)) for fact in self.facts}
            solver, uses = self._solver([*self.refuted, *self.to.known], axioms, effort)
            before = _spent(solver)
            found = solver.check(*uses.values())
            if found == z3.unsat or len(self.to.calls) == len(calls):
                break
        if found == z3.unsat:
            return Proof(_least(solver, uses, _spent(solver) - before))
        if found == z3.sat:
            return _Refuted("counterexample", self._example(solver, uses, mentioned))
        out_of_effort = solver.reason_unknown() in ("canceled", "max. resource limit exceeded")
        return _Refuted("resource limit" if out_of_effort else "undecided")

    def _solver(
        self, asserted: Sequence[Term], axioms: Mapping[Fact, list[Term]], effort: int
    ) -> tuple[Any, dict[Fact, Term]]:
        """Return a solver, and for each fact that says something the Boolean that makes it hold."""
        solver = z3.SimpleSolver(ctx=self.to.context)
        solver.set("rlimit", effort)
        solver.add(*asserted)
        uses = {}
        for number, fact in enumerate(fact for fact, instance in axioms.items() if instance):
            uses[fact] = z3.Bool(f"fact!{number}", self.to.context)
            solver.add(z3.Implies(uses[fact], self.to.every(axioms[fact])))
        return solver, uses

    def _place(self, loops: Bindings, lets: Bindings, conditions: Sequence[Expr]) -> list[Term]:
        """Return what holds where the goal stands."""
        place: list[Term] = []
        for var, extent in loops:
            place += self.to.within(self.to.var(var), self.to.term(extent))
        place += [combined(BinaryOp.EQ, self.to.var(var), self.to.term(value)) for var, value in lets]
        place += [self.to.term(condition) for condition in conditions]
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
