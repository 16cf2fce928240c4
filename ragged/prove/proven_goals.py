"""Goals that were proven, each with the conditions that its proof needed: it holds under more of them, too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field

from ragged.ir.expr import Const, Expr, Ref, Var
from ragged.ir.rewrite import substitute
from ragged.ir.walk import subexpressions, variables
from ragged.prove.answers import Proof
from ragged.prove.context import relevant
from ragged.prove.question import Question, numbered, variable


@dataclass(slots=True)
class ProvenGoals:
    """What was proven in one step: statements in branches of branches ask the same under many conditions.

    Kept for a step alone: which facts a proof of it relies on may follow from what was asked before.
    """

    _found: defaultdict[Hashable, list[tuple[frozenset[Expr], Proof]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def find(self, question: Question) -> Proof | None:
        """Return a proof of the question's goal that needs no more than its conditions; None if there is none."""
        if not question.about.conditions:
            return None
        alone, conditions = _parts(question)
        hold = frozenset(each for each in conditions if each is not None)
        return next((proof for needed, proof in self._found.get(alone, ()) if needed <= hold), None)

    def add(self, question: Question, proof: Proof) -> None:
        """Note a proof of a question, if it is known which conditions it needs."""
        if proof.needed is None or not question.about.conditions:
            return
        alone, conditions = _parts(question)
        needed = [conditions[position] for position in proof.needed]
        if None not in needed:
            self._found[alone].append((frozenset(each for each in needed if each is not None), proof))


def _parts(question: Question) -> tuple[Hashable, list[Expr | None]]:
    """Return a question without its conditions, and these in its variables; None for one that says more.

    That is of variables that only conditions have, or of floating-point constants: 0.0 equals -0.0.
    """
    goal, about = question.goal, question.about
    alone, order = numbered(goal, relevant(goal, about.loops, about.lets, ()))
    renamed: dict[Var, Expr] = {var: Ref(variable(number, var.dtype)) for number, var in enumerate(order)}
    return alone, [
        substitute(each, renamed) if variables(each) <= renamed.keys() and not _has_floats(each) else None
        for each in about.conditions
    ]


def _has_floats(expr: Expr) -> bool:
    return any(isinstance(part, Const) and part.dtype.is_float for part in subexpressions(expr))
