"""What a program's variables stand for: lets their values, loops' variables what they stay below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragged.arith.affine import AffineForm, affine, at_most
from ragged.ir.expr import Const, Expr, Load, Ref, Role, Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Substitution
from ragged.ir.stmt import For, Let
from ragged.ir.walk import statements, subexpressions, variables

_FIXED = (Role.PARAMETER, Role.PAYLOAD, Role.BOUND)


@dataclass(frozen=True, slots=True)
class Bindings:
    """The lets and loops of a program. Every variable is bound once, so one map serves the whole program.

    `below` has the constant upper bounds (exclusive) of loop variables that have one.
    """

    lets: Mapping[Var, Expr]
    extents: Mapping[Var, Expr]
    below: Mapping[Var, int]

    def expand(self, expr: Expr) -> Expr:
        """Return `expr` with all lets substituted."""
        return _ExpandBindings(values=self.lets).expr(expr)

    def affine(self, expr: Expr) -> AffineForm:
        """Return an index as a sum over loops' variables; lets are seen through."""
        return affine(self.expand(expr))


def bindings(program: Program) -> Bindings:
    """Return what the variables of all stages stand for."""
    stmts = [stmt for stage in program.stages for stmt in statements(stage.body)]
    lets = {stmt.var: stmt.value for stmt in stmts if isinstance(stmt, Let)}
    extents: dict[Var, Expr] = {}
    below: dict[Var, int] = {}
    for stmt in stmts:  # outer loops come first: an extent may use their variables
        if isinstance(stmt, For):
            extents[stmt.var] = _ExpandBindings(values=lets).expr(stmt.extent)
            most = at_most(extents[stmt.var], below)
            if most is not None:
                below[stmt.var] = most
    return Bindings(lets, extents, below)


def is_fixed(expr: Expr) -> bool:
    """Return whether no statement of the kernel changes what `expr` is where its variables stay the same."""
    return all(part.buffer.role in _FIXED for part in subexpressions(expr) if isinstance(part, Load))


def number(expr: Expr) -> int | None:
    """Return the value of a constant, None for any other expression."""
    return int(expr.value) if isinstance(expr, Const) else None


class _ExpandBindings(Substitution):
    """Substitutes variables, and also the variables in the substituted values."""

    def expr(self, expr: Expr) -> Expr:
        if variables(expr).isdisjoint(self.values):
            return expr
        new = super().expr(expr)
        return self.expr(new) if isinstance(expr, Ref) and new is not expr else new
