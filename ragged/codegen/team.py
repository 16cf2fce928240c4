"""Code for stages that a team of workers runs, and their barriers.

Every worker runs the whole stage. In a team loop worker w runs iteration w. Every worker runs the loops, lets and
conditions around a team loop; only the first worker runs the statements adjacent to it, with barriers in between.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragged.analysis.dependence import storage
from ragged.codegen.exprs import TirBuffer
from ragged.codegen.load_tvm import tirx
from ragged.codegen.ops import BARRIER, CLAIM, TirExpr, TirStmt, literal
from ragged.errors import ScheduleError
from ragged.ir.dtype import INDEX
from ragged.ir.expr import Buffer, Load, Role
from ragged.ir.program import Program, Stage
from ragged.ir.sites import Site, sites_in
from ragged.ir.stmt import Alloc, For, LoopKind, Stmt
from ragged.ir.walk import all_expressions, expressions, loads, statements, written


@dataclass(frozen=True, slots=True)
class Team:
    """A stage's workers: the number of the one that runs it and how many there are.

    `shared` are the addresses of the buffers that the stage writes; `status` the status words.
    """

    worker: TirExpr
    workers: TirExpr
    status: TirBuffer
    shared: tuple[TirExpr, ...]

    def barrier(self) -> TirStmt:
        """Return a wait for all workers, which ends the stage if a check has failed."""
        met = tirx.call_intrin("int32", BARRIER, self.status.data, self.workers, *self.shared)
        return tirx.IfThenElse(_not_zero(met), stop(), None)

    def first_failure(self, code: int, report: TirStmt) -> TirStmt:
        """Return `report`, run only by the first worker with a failing check; `code`, not zero, is the check's."""
        won = tirx.call_intrin("int32", CLAIM, self.status.data, literal(code, INDEX))
        return tirx.IfThenElse(_not_zero(won), report, None)

    def alone(self, body: TirStmt) -> TirStmt:
        """Return `body`, run by the first worker."""
        return tirx.IfThenElse(tirx.EQ(self.worker, literal(0, INDEX)), body, None)


def stop() -> TirStmt:
    """Return the end of a stage."""
    return tirx.Return(tirx.IntImm("int32", 0))


def _not_zero(value: TirExpr) -> TirExpr:
    return tirx.NE(value, tirx.IntImm("int32", 0))


def has_team(stmt: Stmt) -> bool:
    """Return whether there is a team loop in `stmt`."""
    return any(isinstance(inner, For) and inner.kind is LoopKind.TEAM for inner in statements(stmt))


def shared_buffers(program: Program, stage: Stage) -> list[Buffer]:
    """Return the declared buffers that `stage` writes, directly or by an alias, in the program's order."""
    changed = {storage(buffer) for buffer in written(stage.body) if storage(buffer).role is not Role.LOCAL}
    return [buffer for buffer in program.buffers if buffer in changed]


def check_team(stage: Stage) -> None:
    """Check that each worker can run the statements around the stage's team loops redundantly.

    Raises:
        ScheduleError: an extent, let or condition around a team's loop reads what the stage writes, which changes
            while some workers have yet to look; or a local buffer is shared with a team, and workers have no common
            stack.
    """
    changed = {storage(buffer) for buffer in written(stage.body)}
    for site in sites_in(Site(stage, stage.body)):
        if not has_team(site.stmt) or any(loop.kind is LoopKind.TEAM for loop in site.loops):
            continue
        if isinstance(site.stmt, Alloc):
            _check_local(site.stmt)
        elif not _is_team(site.stmt):
            for load in loads(*expressions(site.stmt)):
                if storage(load.buffer) in changed:
                    raise ScheduleError(
                        f"'{load.buffer.name}' decides what stands around a team's loop, and is written meanwhile",
                        because="workers that look at different times would part",
                    )


def _check_local(alloc: Alloc) -> None:
    for team in filter(_is_team, statements(alloc.body)):
        loads = {e.buffer for e in all_expressions(team) if isinstance(e, Load)}
        if any(storage(buffer) is alloc.buffer for buffer in loads | written(team)):
            raise ScheduleError(
                f"local buffer '{alloc.buffer.name}' is shared by a team's workers",
                because="each has a stack of its own",
                fix="a workspace that the program declares",
            )


def _is_team(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.kind is LoopKind.TEAM
