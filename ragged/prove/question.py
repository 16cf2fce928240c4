"""Questions up to the names of their variables: what was answered of one is answered of all that are like it.

Unrolled, peeled and fissioned loops ask the same of copies of their variables. A question is brought into a form in
which its variables are numbered in the order that they occur in, so that two are equal if and only if there is a
one-to-one map of the variables of the one to those of the other, of the same dtypes, that makes them the same text.
Functions and buffers are compared by identity, as everywhere.
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
    """A goal and what is known where it stands, over numbered variables.

    `floats` are the floating-point constants as they print, in order: 0.0 equals -0.0, and is not the same.
    """

    goal: Expr
    about: Context
    floats: tuple[str, ...]


def numbered(goal: Expr, about: Context) -> tuple[Question, tuple[Var, ...]]:
    """Return the question in its own form, and the variables that its numbers stand for.

    `about` is what `relevant` leaves of a place: all that is bound there is spoken of. Loops and lets come in the order
    of their numbers, so that it does not matter in which order the copies of two iterations were listed.
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
    """Puts numbered variables in place of others; `order` are those that have a number."""

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
