"""Rooms: what a workspace holds of one round, one room for each share of rows, which the next round has again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from ragged.analysis.buffers import check_known
from ragged.analysis.parallel_regions import Phase
from ragged.analysis.replicated_loops import Own, leaves_row
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Expr, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.stmt import For
from ragged.ir.walk import read, written
from ragged.transform.storage.rebase_storage import rebase_storage


class Room(NamedTuple):
    """A workspace with room for one iteration of `loop`: what `rebase_storage` is to be told."""

    buffer: Buffer
    dimension: int
    loop: Var
    begin: Expr
    length: Expr
    extent: Expr


def rebased(
    program: Program, phases: Sequence[Phase], own: Own, rooms: Sequence[Room], refusal: str
) -> tuple[Program, tuple[Buffer, ...]]:
    """Return the program with rooms in place of workspaces, and these rooms.

    `phases` are those of the program, `own` those that each worker runs for himself.

    Raises:
        ScheduleError: a workspace is used in a phase whose rows are not shared out, or not as in others; an iteration
            reads of it what another row or round has written; or `rebase_storage` refuses.
    """
    for room in rooms:
        check_known(program, room.buffer, "distribute_over_team")
        _check(program, phases, own, room, refusal)
    places = [program.buffers.index(room.buffer) for room in rooms]
    for room in rooms:
        program = rebase_storage(program, *room).program
    return program, tuple(program.buffers[place] for place in places)


def _check(program: Program, phases: Sequence[Phase], own: Own, room: Room, refusal: str) -> None:
    """Refuse unless who has some rows of all phases alike reads of a workspace what he wrote in the same round."""
    name, buffer = room.buffer.name, frozenset([room.buffer])
    stages = (stage.body for stage in program.stages if stage.kind is not StageKind.KERNEL)
    if room.buffer in own.buffers or any(room.buffer in read(body) | written(body) for body in stages):
        raise ScheduleError(
            refusal, because=f"each worker has a copy of '{name}', or another stage uses it: it has no room"
        )
    users = [phase for phase in phases if room.buffer in read(phase.loop) | written(phase.loop)]
    rows = [_rows(phase, own, name, refusal) for phase in users]
    for phase, loop in zip(users, rows, strict=True):
        same = phase.site.expand(loop.extent) == users[0].site.expand(rows[0].extent)
        if not same or not phase.is_beside(users[0]):
            raise ScheduleError(
                refusal,
                because=f"loops '{rows[0].var.name}' and '{loop.var.name}' use '{name}' and have not the same rows",
            )
    for (writer, others), (phase, loop) in product(zip(users, rows, strict=True), repeat=2):
        if room.buffer not in written(writer.loop):
            continue
        if leaves_row(program, buffer, (writer, others), (phase, loop)):
            raise ScheduleError(
                refusal, because=f"loop '{loop.var.name}' may use of '{name}' what is of another row or round"
            )


def _rows(phase: Phase, own: Own, name: str, refusal: str) -> For:
    """Return the loop over a phase's rows of which a worker has some."""
    if phase.loop.var in own.by_rows:
        return phase.loop
    if phase.rows is None or phase in own.phases:
        raise ScheduleError(
            refusal, because=f"loop '{phase.loop.var.name}' uses '{name}', and its rows are not shared out"
        )
    return phase.rows
