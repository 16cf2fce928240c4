"""What is found of a question: a proof and the facts that it relies on, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ragged.ir.expr import Var
from ragged.ir.fact import Fact
from ragged.prove.context import Context
from ragged.prove.question import variable


@dataclass(frozen=True, slots=True)
class Proof:
    """The goal holds wherever `facts` do; none of them is left out of this proof without more effort.

    Of the question's conditions those at the positions `needed` suffice where the loops of the goal's own variables
    run; None if that is not known.
    """

    facts: frozenset[Fact]
    needed: tuple[int, ...] | None = field(default=None, compare=False)


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
class Refuted:
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


Answer: TypeAlias = Proof | Refuted
