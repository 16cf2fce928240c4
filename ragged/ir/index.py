"""What is where in a program: its labels and loops in the order of the text, and the way to each loop.

Every step of a schedule asks this of the program that the step before it left, several times: it is looked up once for
each program, in one walk, and kept for the last few.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, assert_never

from ragged.ir.expr import Var
from ragged.ir.program import Program, Stage
from ragged.ir.stmt import Alloc, Barrier, Block, Check, For, If, Intrinsic, Label, Let, Reduce, Stmt, Store


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
    """A program's labels and loops, stage by stage in the order of the text; `places` is where each loop stands."""

    labels: tuple[Label, ...]
    loops: tuple[Var, ...]
    places: Mapping[Var, Found]


_RECENT: deque[tuple[Program, Index]] = deque(maxlen=4)


def index_of(program: Program) -> Index:
    """Return the index of a program."""
    for known, found in tuple(_RECENT):
        if known is program:
            return found
    made = _index(program)
    _RECENT.append((program, made))
    return made


def _index(program: Program) -> Index:
    labels: list[Label] = []
    loops: list[Var] = []
    places: dict[Var, Found] = {}
    for stage in program.stages:
        pending: list[tuple[Stmt, Way | None]] = [(stage.body, None)]
        while pending:
            stmt, way = pending.pop()
            match stmt:
                case For(var=var, body=body):
                    loops.append(var)
                    places.setdefault(var, Found(stage, stmt, way))
                    pending.append((body, Way(stmt, True, way)))
                case Block(body=body):
                    pending.extend([(inner, way) for inner in reversed(body)])
                case Store() | Reduce() | Check() | Barrier() | Intrinsic():
                    labels.append(stmt.label)
                case Let(body=body) | Alloc(body=body):
                    pending.append((body, Way(stmt, True, way)))
                case If(then=then, orelse=orelse):
                    if orelse is not None:
                        pending.append((orelse, Way(stmt, False, way)))
                    pending.append((then, Way(stmt, True, way)))
                case _:
                    assert_never(stmt)
    return Index(tuple(labels), tuple(loops), places)
