"""The prover: goals over a program's loops, lets, conditions and facts."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ragged.ir.expr import Expr, Var
from ragged.ir.fact import Fact
from ragged.ir.program import Program
from ragged.prove.answers import Answer, Proof, Refuted, Unproven
from ragged.prove.context import relevant
from ragged.prove.linear import follows
from ragged.prove.proven_goals import ProvenGoals
from ragged.prove.query import Query
from ragged.prove.question import Question, numbered
from ragged.prove.row_major import by_rows_and_columns
from ragged.prove.shared_answers import SHARED_ANSWERS, facts_about, key_of

Bindings: TypeAlias = Sequence[tuple[Var, Expr]]

_LITTLE = 100
"""What a question may take is so many times what is spent on it before any fact is looked at."""


@dataclass(frozen=True, slots=True)
class Prover:
    """Proves goals of one program from its facts.

    `effort` bounds what the solver does for one question, in its own units: the same question has the same answer on
    every machine, unless a check of the solver takes three seconds, and whatever was asked before, as each has a
    context of Z3 to itself: a log of a schedule repeats a program although refused steps asked more. What differs from
    an earlier question in the names of variables alone is not asked again: `answers` holds what was found. What differs
    in the identity of functions and buffers alone is asked of the solver once for all programs of the process. If
    `answers` is None, neither holds.
    """

    program: Program
    effort: int = 2_000_000
    answers: dict[Question, Answer] | None = field(default_factory=dict, repr=False, compare=False)

    def prove(
        self,
        goal: Expr,
        *,
        loops: Bindings = (),
        lets: Bindings = (),
        conditions: Sequence[Expr] = (),
        proven_goals: ProvenGoals | None = None,
    ) -> Proof | Unproven:
        """Prove that `goal`, a BOOL expression, holds in some place of the program.

        `loops` are the loops around it, each a variable and its extent; `lets` the variables that are bound
        to values; `conditions` the BOOL expressions that hold there. What is proven is that the goal holds
        whenever the place is reached: whether the goal's own calls lie in their domains is another goal. A proof
        in `proven_goals` that needs no other conditions is returned; a new one is added to it.
        """
        about = relevant(goal, loops, lets, conditions)
        question, variables = numbered(goal, about)
        answer: Answer | None = None if proven_goals is None else proven_goals.find(question)
        if answer is None:
            answer = self._answer(question)
            if proven_goals is not None and isinstance(answer, Proof):
                proven_goals.add(question, answer)
        if isinstance(answer, Proof):
            for facts in _recordings()[-1:]:
                facts |= answer.facts
            return answer
        return answer.of(variables, about)

    def _answer(self, question: Question) -> Answer:
        answer = None if self.answers is None else self.answers.get(question)
        if answer is None:
            answer = Proof(frozenset()) if follows(question) else self._solved(question)
        if self.answers is not None:
            self.answers[question] = answer
        return answer

    def _solved(self, question: Question) -> Answer:
        """Return what the solver finds, or found of a question that is the same but for identities."""
        facts = facts_about(question, self.program.facts)
        if self.answers is None:
            return self._anew(question, facts)
        key = key_of(question, facts, self.effort)
        answer = SHARED_ANSWERS.get(key, facts)
        if answer is None:
            answer = self._anew(question, facts)
            SHARED_ANSWERS.put(key, facts, answer)
        return answer

    def _anew(self, question: Question, facts: Sequence[Fact]) -> Answer:
        asked = Query(question, facts)
        answer: Answer | None = asked.alone(self.effort // _LITTLE)
        if answer is None:
            by_rows = self._by_rows_and_columns(question)
            if by_rows is not None:
                return by_rows
            answer = asked.answer(self.effort)
        if isinstance(answer, Refuted) or not question.about.conditions:
            return answer
        return replace(answer, needed=asked.needed(answer.facts, self.effort))

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
