"""The labels, loops and local buffers of a program in the order of the text, and the path to each loop.

Every step of a schedule asks this of the program that the step before it left, several times, and most statements of
that are statements of the program before: each keeps what is in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ragged.ir.expr import Buffer, Var
from ragged.ir.program import Program, Stage
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Check,
    Contents,
    For,
    If,
    Label,
    Let,
    Reduce,
    Stmt,
    Store,
)
from ragged.ir.walk import children


class EnclosingPath(NamedTuple):
    """A construct around a statement, the path to the construct, and of a condition the branch that was taken."""

    outer: For | Let | Alloc | If
    taken: bool
    outside: EnclosingPath | None


@dataclass(frozen=True, slots=True)
class LoopLocation:
    """A loop, its stage, and the path to it: the constructs around it, innermost first."""

    stage: Stage
    loop: For
    path: EnclosingPath | None

    def around(self) -> list[EnclosingPath]:
        """Return the constructs around the loop, outermost first."""
        found: list[EnclosingPath] = []
        path = self.path
        while path is not None:
            found.append(path)
            path = path.outside
        return found[::-1]


@dataclass(frozen=True, slots=True)
class Index:
    """A program's labels, loops and local buffers, stage by stage in the order of the text."""

    stages: tuple[Stage, ...]
    labels: tuple[Label, ...]
    loops: tuple[Var, ...]
    buffers: tuple[Buffer, ...]

    def find(self, loop: Var) -> LoopLocation | None:
        """Return where a loop stands, the first of the text if there are several; None if there is none."""
        for stage in self.stages:
            if loop in contents(stage.body).loops:
                return LoopLocation(stage, *_find(stage.body, loop))
        return None


def index_of(program: Program) -> Index:
    """Return the index of a program, which keeps it."""
    try:
        kept: Index = program._index
        return kept
    except AttributeError:
        found = Index(program.stages, *_joined(contents(stage.body) for stage in program.stages))
        object.__setattr__(program, "_index", found)
        return found


def contents(stmt: Stmt) -> Contents:
    """Return the labels, loops and local buffers in a statement, which keeps them."""
    try:
        return stmt._index
    except AttributeError:
        match stmt:
            case Store() | Reduce() | Check() | Barrier():
                found = Contents((stmt.label,), (), ())
            case For(body=body):
                labels, loops, buffers = contents(body)
                found = Contents(labels, (stmt.var, *loops), buffers)
            case Alloc(body=body):
                labels, loops, buffers = contents(body)
                found = Contents(labels, loops, (stmt.buffer, *buffers))
            case Let(body=body):
                found = contents(body)
            case _:
                found = _joined(map(contents, children(stmt)))
        object.__setattr__(stmt, "_index", found)
        return found


def _joined(parts: Iterable[Contents]) -> Contents:
    """Return what is in statements that stand one after another."""
    labels, loops, buffers = zip(*parts, strict=True) if (parts := list(parts)) else ((), (), ())
    return Contents(*(tuple(chain.from_iterable(each)) for each in (labels, loops, buffers)))


def _find(stmt: Stmt, loop: Var) -> tuple[For, EnclosingPath | None]:
    """Return a loop that is in a statement, the first of the text if there are several, and the path to it."""
    path: EnclosingPath | None = None
    while not (isinstance(stmt, For) and stmt.var is loop):
        if isinstance(stmt, For | Let | Alloc):
            path, stmt = EnclosingPath(stmt, True, path), stmt.body
        elif isinstance(stmt, If) and (stmt.orelse is None or loop in contents(stmt.then).loops):
            path, stmt = EnclosingPath(stmt, True, path), stmt.then
        elif isinstance(stmt, If):
            assert stmt.orelse is not None
            path, stmt = EnclosingPath(stmt, False, path), stmt.orelse
        else:
            stmt = next(inner for inner in children(stmt) if loop in contents(inner).loops)
    return stmt, path
