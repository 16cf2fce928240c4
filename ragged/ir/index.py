"""The labels, loops and local buffers of a program in the order of the text, and the path to each loop.

Every step of a schedule asks this of the program that the step before it left, several times, and most statements of
that are statements of the program before: each keeps what is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ragged.ir.expr import Buffer, Var
from ragged.ir.program import Program, Stage
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    Contents,
    For,
    If,
    Intrinsic,
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
            found = _find(stage.body, loop, None)
            if found is not None:
                return LoopLocation(stage, *found)
        return None


def index_of(program: Program) -> Index:
    """Return the index of a program."""
    parts = [contents(stage.body) for stage in program.stages]
    labels, loops, buffers = (tuple(chain.from_iterable(each)) for each in zip(*parts, strict=True))
    return Index(program.stages, labels, loops, buffers)


def contents(stmt: Stmt) -> Contents:
    """Return the labels, loops and local buffers in a statement, which keeps them."""
    try:
        return stmt._index
    except AttributeError:
        labels: tuple[Label, ...] = ()
        loops: tuple[Var, ...] = ()
        buffers: tuple[Buffer, ...] = ()
        match stmt:
            case Store() | Reduce() | Check() | Barrier() | Intrinsic():
                labels = (stmt.label,)
            case For():
                loops = (stmt.var,)
            case Alloc():
                buffers = (stmt.buffer,)
            case _:
                pass
        inner = [contents(child) for child in children(stmt)]
        found = Contents(
            labels + tuple(chain.from_iterable(each.labels for each in inner)),
            loops + tuple(chain.from_iterable(each.loops for each in inner)),
            buffers + tuple(chain.from_iterable(each.buffers for each in inner)),
        )
        object.__setattr__(stmt, "_index", found)
        return found


def _find(stmt: Stmt, loop: Var, path: EnclosingPath | None) -> tuple[For, EnclosingPath | None] | None:
    """Return a loop in a statement, and the path to it."""
    if loop not in contents(stmt).loops:
        return None
    match stmt:
        case For(var=var) if var is loop:
            return stmt, path
        case For(body=body) | Let(body=body) | Alloc(body=body):
            return _find(body, loop, EnclosingPath(stmt, True, path))
        case Block(body=body):
            found = (_find(inner, loop, path) for inner in body)
            return next((each for each in found if each is not None), None)
        case If(then=then, orelse=orelse):
            taken = _find(then, loop, EnclosingPath(stmt, True, path))
            if taken is not None or orelse is None:
                return taken
            return _find(orelse, loop, EnclosingPath(stmt, False, path))
        case _:
            return None
