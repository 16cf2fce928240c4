"""What is where in a program: its labels and loops in the order of the text, and the way to each loop.

Every step of a schedule asks this of the program that the step before it left, several times. Most of such a program is
the statements that were there before: what is in a statement is looked up once, and kept for as long as steps go on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from ragged.ir.expr import Var
from ragged.ir.program import Program, Stage
from ragged.ir.stmt import Alloc, Barrier, Block, Check, For, If, Intrinsic, Label, Let, Reduce, Stmt, Store
from ragged.ir.walk import children


class Way(NamedTuple):
    """A construct around a statement, and the way to it; of a condition, which branch was taken."""

    outer: For | Let | Alloc | If
    taken: bool
    before: Way | None


@dataclass(frozen=True, slots=True)
class Found:
    """A loop, the stage that it stands in, and the way to it."""

    stage: Stage
    loop: For
    way: Way | None

    def around(self) -> list[Way]:
        """Return the constructs around the loop, outermost first."""
        found: list[Way] = []
        way = self.way
        while way is not None:
            found.append(way)
            way = way.before
        return found[::-1]


@dataclass(frozen=True, slots=True)
class Index:
    """A program's labels and loops, stage by stage in the order of the text."""

    stages: tuple[Stage, ...]
    labels: tuple[Label, ...]
    loops: tuple[Var, ...]

    def find(self, loop: Var) -> Found | None:
        """Return where a loop stands, the first of the text if there are several; None if there is none."""
        for stage in self.stages:
            found = _find(stage.body, loop, None)
            if found is not None:
                return Found(stage, *found)
        return None


_RECENT: deque[tuple[Program, Index]] = deque(maxlen=4)


def index_of(program: Program) -> Index:
    """Return the index of a program."""
    for known, found in tuple(_RECENT):
        if known is program:
            return found
    labels: list[Label] = []
    loops: list[Var] = []
    for stage in program.stages:
        _collect(stage.body, labels, loops)
    made = Index(program.stages, tuple(labels), tuple(loops))
    _RECENT.append((program, made))
    return made


def forget_programs() -> None:
    """Let go of all programs: nobody is about to rewrite one of those that were asked about of late."""
    _RECENT.clear()
    _PARTS.clear()


class _Part(NamedTuple):
    """A statement with others in it, and the labels and loops of all of these."""

    stmt: Stmt
    labels: tuple[Label, ...]
    loops: tuple[Var, ...]


_LARGE = 256
"""A statement with more labels and loops in it changes with most steps, and is not remembered."""
_MOST_PARTS = 1 << 16
_PARTS: dict[int, _Part] = {}
"""Of statements by their identity, which is nobody else's as long as they are here."""


def _collect(stmt: Stmt, labels: list[Label], loops: list[Var]) -> None:
    """Append what is in a statement, in the order of the text."""
    if isinstance(stmt, Store | Reduce | Check | Barrier | Intrinsic):
        labels.append(stmt.label)
        return
    part = _PARTS.get(id(stmt))
    if part is not None:
        labels.extend(part.labels)
        loops.extend(part.loops)
        return
    own_labels: list[Label] = []
    own_loops: list[Var] = [stmt.var] if isinstance(stmt, For) else []
    for child in children(stmt):
        _collect(child, own_labels, own_loops)
    if len(own_labels) + len(own_loops) <= _LARGE:
        if len(_PARTS) >= _MOST_PARTS:
            _PARTS.clear()
        _PARTS[id(stmt)] = _Part(stmt, tuple(own_labels), tuple(own_loops))
    labels.extend(own_labels)
    loops.extend(own_loops)


def _find(stmt: Stmt, loop: Var, way: Way | None) -> tuple[For, Way | None] | None:
    """Return a loop in a statement, and the way to it."""
    part = _PARTS.get(id(stmt))
    if part is not None and loop not in part.loops:
        return None
    match stmt:
        case For(var=var) if var is loop:
            return stmt, way
        case For(body=body) | Let(body=body) | Alloc(body=body):
            return _find(body, loop, Way(stmt, True, way))
        case Block(body=body):
            found = (_find(inner, loop, way) for inner in body)
            return next((each for each in found if each is not None), None)
        case If(then=then, orelse=orelse):
            taken = _find(then, loop, Way(stmt, True, way))
            if taken is not None or orelse is None:
                return taken
            return _find(orelse, loop, Way(stmt, False, way))
        case _:
            return None
