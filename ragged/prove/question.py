"""The canonical form of a question to the prover, by which answers are cached.

Variables are numbered in the order in which they occur: two questions are equal if and only if a one-to-one map of
variables of the same dtypes makes one the other, as for copies of unrolled, peeled or fissioned loops. Functions and
buffers are compared by identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from ragged.ir.dtype import DType
from ragged.ir.expr import Const, Expr, Ref, Var
from ragged.ir.rewrite import Rewriter
from ragged.prove.context import Context


@dataclass(frozen=True, slots=True)
class Question:
    """A goal and its context, over numbered variables.

    `floats` are the floating-point constants as they print, in order: 0.0 equals -0.0, and is not the same.
    """

    goal: Expr
    about: Context
    floats: tuple[str, ...]


def numbered(goal: Expr, about: Context) -> tuple[Question, tuple[Var, ...]]:
    """Return the canonical question, and the variables that its numbers stand for.

    `about` is a relevant context: it mentions everything that it binds. Loops and lets are ordered by number, whatever
    their order in `about`.
    """
    rename = _Number()
    new_goal = rename.expr(goal)
    conditions = rename.exprs(about.conditions)
    loops: list[tuple[Var, Expr]] = []
    lets: list[tuple[Var, Expr]] = []
    reached = 0
    while reached < len(rename.order):  # what binds a variable may speak of further ones
        var = rename.order[reached]
        loops += [(rename.var(var), rename.expr(extent)) for bound, extent in about.loops if bound is var]
        lets += [(rename.var(var), rename.expr(value)) for bound, value in about.lets if bound is var]
        reached += 1
    question = Question(new_goal, Context(tuple(loops), tuple(lets), conditions), tuple(rename.floats))
    return question, tuple(rename.order)


@cache
def variable(number: int, dtype: DType) -> Var:
    """Return the variable of that number in every question."""
    return Var(f"v{number}", dtype)


@dataclass
class _Number(Rewriter):
    """Replaces variables by numbered ones; `order` lists those that have a number."""

    numbers: dict[Var, Var] = field(default_factory=dict)
    order: list[Var] = field(default_factory=list)
    floats: list[str] = field(default_factory=list)

    def var(self, var: Var) -> Var:
        if var not in self.numbers:
            self.numbers[var] = variable(len(self.order), var.dtype)
            self.order.append(var)
        return self.numbers[var]

    def expr(self, expr: Expr) -> Expr:
        match expr:
            case Ref(var=var):
                return Ref(self.var(var))
            case Const(value=value, dtype=dtype):
                if dtype.is_float:
                    self.floats.append(repr(value))
                return expr
            case _:
                return super().expr(expr)
