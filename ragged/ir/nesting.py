"""The loops around a statement, and which variables depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ragged.ir.expr import Buffer, Expr, Var
from ragged.ir.walk import variables


@dataclass(frozen=True, slots=True)
class Nesting:
    """The loops around a place in a program, outermost first.

    `through` maps each variable in scope to the loop variables that its value depends on; `depth` a local
    buffer to the number of loops around its allocation.
    """

    loops: tuple[Var, ...] = ()
    through: Mapping[Var, frozenset[Var]] = field(default_factory=dict)
    depth: Mapping[Buffer, int] = field(default_factory=dict)

    def in_loop(self, var: Var) -> Nesting:
        """Return the nesting inside a loop over `var`."""
        return replace(self, loops=(*self.loops, var), through={**self.through, var: frozenset((var,))})

    def in_let(self, var: Var, value: Expr) -> Nesting:
        """Return the nesting where `var` stands for `value`."""
        return replace(self, through={**self.through, var: self.loops_of(value)})

    def in_alloc(self, buffer: Buffer) -> Nesting:
        """Return the nesting where the local `buffer` lives."""
        return replace(self, depth={**self.depth, buffer: len(self.loops)})

    def loops_of(self, *exprs: Expr) -> frozenset[Var]:
        """Return the loops that the expressions depend on by their variables, through lets."""
        return frozenset[Var]().union(*(self.through.get(var, frozenset()) for var in variables(*exprs)))

    def default_axes(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Var, ...]:
        """Return what a reduction into `buffer[indices]` reduces over unless it says otherwise.

        These are the loops inside the life of `buffer` that the indices do not depend on.
        """
        used = self.loops_of(*indices)
        return tuple(var for var in self.loops[self.depth.get(buffer, 0) :] if var not in used)
