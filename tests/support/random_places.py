"""Places of a program that a random step may name: mostly such as it has a chance at, now and then any or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import TypeVar

from ragged.analysis.buffers import all_buffers
from ragged.ir.expr import Buffer, Load, Role, Var
from ragged.ir.program import Program
from ragged.ir.rewrite import labels_of
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import Block, For, Label, Leaf, Let, Stmt
from ragged.ir.walk import held, leaves, statements, subexpressions

T = TypeVar("T")
GONE = Var("gone")
"""A loop of no program."""


class Places:
    """Draws loops, statements and buffers of a program."""

    def __init__(self, draw: Random, program: Program) -> None:
        self.draw = draw
        self.program = program
        self.sites = [site for site in sites(program)]
        self.loops = [site.stmt for site in self.sites if isinstance(site.stmt, For)]
        self.buffers = all_buffers(program)

    # --- choices ----------------------------------------------------------------------------------------------

    def pick(self, options: Sequence[T]) -> T:
        return self.draw.choice(options)

    def chance(self, tenths: int) -> bool:
        """Return whether something that happens so often in ten does."""
        return self.draw.random() * 10 < tenths

    def likely(self, options: Sequence[T], others: Sequence[T]) -> T:
        """Return mostly one of `options`, if there is one."""
        return self.pick(options if options and self.chance(8) else others)

    # --- loops ------------------------------------------------------------------------------------------------

    def loop(self, likely: Callable[[For], bool] = lambda loop: True) -> Var:
        """Return a loop, mostly one that is likely."""
        if not self.loops or self.draw.random() < 0.05:
            return GONE
        every = [loop.var for loop in self.loops]
        return self.likely([loop.var for loop in self.loops if likely(loop)], every)

    def find(self, var: Var) -> For | None:
        """Return the loop over a variable, None if there is none."""
        return next((loop for loop in self.loops if loop.var is var), None)

    def pair(self, likely: Sequence[tuple[Var, Var]]) -> tuple[Var, Var]:
        """Return two loops, mostly one of these pairs."""
        return self.pick(likely) if likely and self.chance(8) else (self.loop(), self.loop())

    def nested(self) -> list[tuple[Var, Var]]:
        """Return the loops that stand directly inside each other, lets between them."""
        found = []
        for loop in self.loops:
            parts = parts_of(loop)
            if len(parts) == 1 and isinstance(parts[0], For):
                found.append((loop.var, parts[0].var))
        return found

    def inside(self) -> list[tuple[Var, Var]]:
        """Return the loops that stand anywhere inside each other."""
        return [(loop.var, inner.var) for loop in self.loops for inner in loops_in(loop.body)]

    def siblings(self) -> list[tuple[Var, Var]]:
        """Return the loops that follow each other directly."""
        return [
            (one.var, other.var)
            for block in self.blocks()
            for one, other in pairwise(block)
            if isinstance(one, For) and isinstance(other, For)
        ]

    def cuts(self) -> list[tuple[Var, Label | Var]]:
        """Return the loops with what stands directly in them and is not the last there."""
        found: list[tuple[Var, Label | Var]] = []
        for loop in self.loops:
            for part in parts_of(loop)[:-1]:
                if isinstance(part, For | Leaf):
                    found.append((loop.var, part.var if isinstance(part, For) else part.label))
        return found

    def blocks(self) -> Iterator[tuple[Stmt, ...]]:
        return (site.stmt.body for site in self.sites if isinstance(site.stmt, Block))

    def around(self, wanted: Callable[[Stmt], bool]) -> list[tuple[Site, Var]]:
        """Return the statements that are wanted with each loop around them."""
        return [(site, loop.var) for site in self.sites if wanted(site.stmt) for loop in site.loops]

    # --- statements, buffers, names ---------------------------------------------------------------------------

    def label(self) -> Label:
        return self.pick(labels_of(self.program))

    def buffer(self, *roles: Role) -> Buffer:
        """Return a buffer, mostly one of these roles."""
        return self.likely([buffer for buffer in self.buffers if buffer.role in roles], self.buffers)

    def name(self, new: str) -> str:
        """Return a name: mostly a new one, now and then one that is taken."""
        taken = [each.name for each in (*self.program.functions, *self.program.buffers)]
        return self.program.free_name(new) if self.chance(9) else self.pick(taken)


def loops_in(stmt: Stmt) -> list[For]:
    """Return a statement's loops, itself among them."""
    return [part for part in statements(stmt) if isinstance(part, For)]


def read_in(stmt: Stmt) -> list[Buffer]:
    """Return the buffers that a statement reads, each as often as it does, in the order of the text."""
    return [
        part.buffer
        for leaf in leaves(stmt)
        for expr in held(leaf)
        for part in subexpressions(expr)
        if isinstance(part, Load)
    ]


def parts_of(loop: For) -> tuple[Stmt, ...]:
    """Return what stands directly in a loop, under lets and allocations."""
    body = loop.body
    while isinstance(body, Let):
        body = body.body
    return body.body if isinstance(body, Block) else (body,)
