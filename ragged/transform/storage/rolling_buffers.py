"""Rolling buffers: workspaces sized for one outer iteration, one copy per worker, reused in every iteration."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from ragged.analysis.buffers import check_known
from ragged.analysis.parallel_regions import ParallelRegion
from ragged.analysis.replicated_loops import ReplicatedLoops, leaves_row
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Expr, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.stmt import For
from ragged.ir.walk import read, written
from ragged.transform.storage.rebase_storage import rebase_storage


class RollingBuffer(NamedTuple):
    """A workspace that is sized for one iteration of `loop`: the arguments of `rebase_storage`."""

    buffer: Buffer
    dimension: int
    loop: Var
    begin: Expr
    length: Expr
    extent: Expr


def with_rolling_buffers(
    program: Program,
    phases: Sequence[ParallelRegion],
    own: ReplicatedLoops,
    buffers: Sequence[RollingBuffer],
    refusal: str,
) -> tuple[Program, tuple[Buffer, ...]]:
    """Return the program with rolling buffers in place of workspaces, and these buffers.

    `phases` are the program's, `own` those that each worker runs in full.

    Raises:
        ScheduleError: a workspace is accessed in a phase whose rows are not distributed, or are other rows than in
            the others; an iteration reads an element that another row or outer iteration wrote; or `rebase_storage`
            refuses.
    """
    for rolling in buffers:
        check_known(program, rolling.buffer, "distribute_over_team")
        _check(program, phases, own, rolling, refusal)
    places = [program.buffers.index(rolling.buffer) for rolling in buffers]
    for rolling in buffers:
        program = rebase_storage(program, *rolling).program
    return program, tuple(program.buffers[place] for place in places)


def _check(
    program: Program,
    phases: Sequence[ParallelRegion],
    own: ReplicatedLoops,
    rolling: RollingBuffer,
    refusal: str,
) -> None:
    """Refuse unless every read of the workspace is of an element that the same row of an outer iteration wrote."""
    name, buffer = rolling.buffer.name, frozenset([rolling.buffer])
    stages = (stage.body for stage in program.stages if stage.kind is not StageKind.KERNEL)
    if rolling.buffer in own.buffers or any(rolling.buffer in read(body) | written(body) for body in stages):
        raise ScheduleError(
            refusal, because=f"each worker has a copy of '{name}', or another stage accesses it"
        )
    users = [phase for phase in phases if rolling.buffer in read(phase.loop) | written(phase.loop)]
    rows = [_rows(phase, own, name, refusal) for phase in users]
    for phase, loop in zip(users, rows, strict=True):
        same = phase.site.expand(loop.extent) == users[0].site.expand(rows[0].extent)
        if not same or not phase.is_beside(users[0]):
            raise ScheduleError(
                refusal,
                because=f"loops '{rows[0].var.name}' and '{loop.var.name}' access '{name}' and have different rows",
            )
    for (writer, others), (phase, loop) in product(zip(users, rows, strict=True), repeat=2):
        if rolling.buffer not in written(writer.loop):
            continue
        if leaves_row(program, buffer, (writer, others), (phase, loop)):
            raise ScheduleError(
                refusal,
                because=f"loop '{loop.var.name}' may read of '{name}' what another row or iteration has written",
            )


def _rows(phase: ParallelRegion, own: ReplicatedLoops, name: str, refusal: str) -> For:
    """Return the loop over a phase's rows that is distributed over workers."""
    if phase.loop.var in own.by_rows:
        return phase.loop
    if phase.rows is None or phase in own.phases:
        raise ScheduleError(
            refusal,
            because=f"loop '{phase.loop.var.name}' accesses '{name}', and its rows are not distributed",
        )
    return phase.rows
