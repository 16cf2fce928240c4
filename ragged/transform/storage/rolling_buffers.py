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
    regions: Sequence[ParallelRegion],
    replicated: ReplicatedLoops,
    buffers: Sequence[RollingBuffer],
    refusal: str,
) -> tuple[Program, tuple[Buffer, ...]]:
    """Return the program with rolling buffers in place of workspaces, and these buffers.

    `regions` are the program's, `replicated` those that each worker runs in full.

    Raises:
        ScheduleError: a parallel region accesses a workspace and its rows are not distributed, or differ from those of
            the other regions; an iteration reads an element that another row or outer iteration wrote; or
            `rebase_storage` refuses.
    """
    for rolling in buffers:
        check_known(program, rolling.buffer, "distribute_over_team")
        _check(program, regions, replicated, rolling, refusal)
    places = [program.buffers.index(rolling.buffer) for rolling in buffers]
    for rolling in buffers:
        program = rebase_storage(program, *rolling).program
    return program, tuple(program.buffers[place] for place in places)


def _check(
    program: Program,
    regions: Sequence[ParallelRegion],
    replicated: ReplicatedLoops,
    rolling: RollingBuffer,
    refusal: str,
) -> None:
    """Refuse unless every read of the workspace is of an element that the same row of an outer iteration wrote."""
    name, buffer = rolling.buffer.name, frozenset([rolling.buffer])
    stages = (stage.body for stage in program.stages if stage.kind is not StageKind.KERNEL)
    if rolling.buffer in replicated.buffers or any(
        rolling.buffer in read(body) | written(body) for body in stages
    ):
        raise ScheduleError(
            refusal, because=f"each worker has a copy of '{name}', or another stage accesses it"
        )
    users = [region for region in regions if rolling.buffer in read(region.loop) | written(region.loop)]
    rows = [_rows(region, replicated, name, refusal) for region in users]
    for region, loop in zip(users, rows, strict=True):
        same = region.site.expand(loop.extent) == users[0].site.expand(rows[0].extent)
        if not same or not region.is_adjacent(users[0]):
            raise ScheduleError(
                refusal,
                because=f"loops '{rows[0].var.name}' and '{loop.var.name}' access '{name}' and have different rows",
            )
    for (writer, others), (region, loop) in product(zip(users, rows, strict=True), repeat=2):
        if rolling.buffer not in written(writer.loop):
            continue
        if leaves_row(program, buffer, (writer, others), (region, loop)):
            raise ScheduleError(
                refusal,
                because=f"loop '{loop.var.name}' may read of '{name}' what another row or iteration has written",
            )


def _rows(region: ParallelRegion, replicated: ReplicatedLoops, name: str, refusal: str) -> For:
    """Return the loop over a region's rows that is distributed over workers."""
    if region.loop.var in replicated.by_rows:
        return region.loop
    if region.rows is None or region in replicated.regions:
        raise ScheduleError(
            refusal,
            because=f"loop '{region.loop.var.name}' accesses '{name}', and its rows are not distributed",
        )
    return region.rows
