"""What a program's variables stand for: lets their values, loops' variables what they stay below."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from ragged.arith.affine import AffineForm, affine
from ragged.arith.index_intervals import at_most
from ragged.ir.expr import Expr, Ref, Role, Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Substitution
from ragged.ir.stmt import For, Let
from ragged.ir.walk import loads, statements, variables

_Value = TypeVar("_Value")
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
    lets: dict[Var, Expr] = {}
    loops: dict[Var, Expr] = {}
    for stage in program.stages:
        for stmt in statements(stage.body):
            if isinstance(stmt, For):
                loops[stmt.var] = stmt.extent
            elif isinstance(stmt, Let):
                lets[stmt.var] = stmt.value
    extents: _WhenAsked[Expr] = _WhenAsked(loops, lambda var: _ExpandBindings(values=lets).expr(loops[var]))
    below: _WhenAsked[int] = _WhenAsked(loops, lambda var: at_most(extents[var], below))
    return Bindings(lets, extents, below)


class _WhenAsked(Mapping[Var, _Value]):
    """What is computed of loops, each when it is first asked for; loops without a value are not in it.

    Steps of a schedule look at a few loops of a program of thousands.
    """

    def __init__(self, loops: Collection[Var], compute: Callable[[Var], _Value | None]) -> None:
        self._loops = loops
        self._compute = compute
        self._known: dict[Var, _Value | None] = {}

    def __getitem__(self, var: Var) -> _Value:
        if var not in self._known:
            self._known[var] = self._compute(var) if var in self._loops else None
        value = self._known[var]
        if value is None:
            raise KeyError(var)
        return value

    def __iter__(self) -> Iterator[Var]:
        return (var for var in self._loops if self.get(var) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def is_fixed(expr: Expr) -> bool:
    """Return whether no statement of the kernel changes what `expr` is where its variables stay the same."""
    return all(part.buffer.role in _FIXED for part in loads(expr))


class _ExpandBindings(Substitution):
    """Substitutes variables, and also the variables in the substituted values."""

    def expr(self, expr: Expr) -> Expr:
        if variables(expr).isdisjoint(self.values):
            return expr
        new = super().expr(expr)
        return self.expr(new) if isinstance(expr, Ref) and new is not expr else new
