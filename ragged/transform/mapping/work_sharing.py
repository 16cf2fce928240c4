"""What primitives ask that share out the iterations of parallel loops to those who run a kernel together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ragged.analysis.dependence import Copies, find_conflict
from ragged.analysis.parallel_regions import (
    BarrierPlacement,
    ParallelRegion,
    barriers_before,
    outermost_parallel,
)
from ragged.analysis.replicated_loops import ReplicatedLoops
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Buffer, Expr, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.rewrite import Rewriter
from ragged.ir.sites import Site
from ragged.ir.stmt import Alloc, Barrier, Check, For, If, Label, LoopKind, Reduce, Stmt, Store, block
from ragged.ir.walk import leaves
from ragged.transform.storage.rolling_buffers import RollingBuffer, with_rolling_buffers


def check_effects(refusal: str, body: Stmt, phases: Sequence[ParallelRegion], who: str = "worker") -> None:
    """Return if what has an effect in `body` stands in the phases, and what stands around them stays as it is.

    Raises:
        ScheduleError: it does not; `refusal` says who asks, and `who` would do it.
    """
    if not phases:
        raise ScheduleError(refusal, because="it has no parallel loop")
    inside = {label for phase in phases for label in phase.labels}
    for leaf in leaves(body):
        if isinstance(leaf, Store | Reduce | Check | Barrier) and leaf.label not in inside:
            if isinstance(leaf, Barrier) and who == "thread":
                continue  # all threads of all blocks come there
            raise ScheduleError(
                refusal,
                at=leaf.at,
                because=f"'{leaf.label.name}' stands outside its parallel loops: every {who} would do it",
            )
    for phase in phases:
        for buffer in phase.reads_around:
            raise ScheduleError(
                refusal,
                because=f"what stands around loop '{phase.loop.var.name}' reads '{buffer.name}', and "
                f"{who}s look at different times",
            )


def check_independent(primitive: str, program: Program, phase: ParallelRegion) -> None:
    """Return if no two iterations of a phase touch one element that one of them writes.

    Raises:
        ScheduleError: that is not proven.
    """

    def apart(first: Copies, second: Copies) -> tuple[Expr, ...]:
        return (Binary(BinaryOp.LT, first[phase.loop.var], second[phase.loop.var]),)

    # A check ends the program wherever iterations are; their order does not matter to it.
    inside = [site for site in phase.inside if not isinstance(site.stmt, Check)]
    conflict = find_conflict(program, inside, inside, phase.depth, apart)
    if conflict is not None:
        raise ScheduleError(
            f"{primitive}: the iterations of loop '{phase.loop.var.name}' are not proven to be independent",
            at=phase.loop.at,
            because=str(conflict),
            example=conflict.example,
        )


def held_by_workers(team: For) -> tuple[tuple[Alloc, ...], Stmt]:
    """Return what is allocated for all that a worker does, outermost first, and the statement inside of that."""
    held: list[Alloc] = []
    body = team.body
    while isinstance(body, Alloc):
        held.append(body)
        body = body.body
    return tuple(held), body


@dataclass(frozen=True, slots=True)
class Shareable:
    """A program's kernel, its loops that can be shared out, and those of them before which all have to meet.

    `rooms` are the workspaces of which each share of rows has a copy.
    """

    program: Program
    kernel: Stage
    loops: set[Var]
    barriers: BarrierPlacement
    phases: tuple[ParallelRegion, ...]
    own: ReplicatedLoops
    rooms: tuple[Buffer, ...]

    @classmethod
    def of(
        cls,
        program: Program,
        primitive: str,
        refusal: str,
        *,
        aligned: bool = False,
        crossed: bool = False,
        own: Iterable[Var] = (),
        rooms: Sequence[RollingBuffer] = (),
    ) -> Shareable:
        """Return what `primitive` can share out of a program; `aligned` is as in `barriers_before`.

        With `crossed`, phases that have rows may be shared out by these. Loops in `own` everybody runs for himself.
        What is returned is of the program with `rooms`.

        Raises:
            ScheduleError: as `check_effects`, `check_independent`, `ReplicatedLoops.of` and `with_rolling_buffers` do.
        """
        kernel, phases = _phases_of(program)
        check_effects(refusal, kernel.body, phases)
        for phase in phases:
            check_independent(primitive, program, phase)
        owned = ReplicatedLoops.of(program, phases, own, refusal, crossed=crossed)
        apart: tuple[Buffer, ...] = ()
        if rooms:
            program, apart = with_rolling_buffers(program, phases, owned, rooms, refusal)
            kernel, phases = _phases_of(program)
            owned = owned.among(phases)
        whole = Site(kernel, kernel.body)
        loops = {phase.loop.var for phase in phases}
        barriers = barriers_before(
            program, whole, phases, aligned=aligned, crossed=crossed, copied=owned.buffers
        )
        return cls(program, kernel, loops, barriers, tuple(phases), owned, apart)


def fitting_rooms(
    program: Program, rooms: Iterable[RollingBuffer], own: Iterable[Var] = ()
) -> tuple[RollingBuffer, ...]:
    """Return those of `rooms` that `Shareable.of` would take with `crossed` and `own`."""
    _, phases = _phases_of(program)
    try:
        owned = ReplicatedLoops.of(program, phases, own, "rooms: none", crossed=True)
    except ScheduleError:
        return ()
    fitting: list[RollingBuffer] = []
    for room in rooms:
        with suppress(ScheduleError):
            with_rolling_buffers(program, phases, owned, [room], "rooms: none")
            fitting.append(room)
    return tuple(fitting)


def _phases_of(program: Program) -> tuple[Stage, list[ParallelRegion]]:
    kernel = program.stage(StageKind.KERNEL)
    assert kernel is not None, "a verified program has a kernel"
    return kernel, outermost_parallel(Site(kernel, kernel.body))


@dataclass
class Share(Rewriter, ABC):
    """Puts a share in place of each of `loops`, and a barrier before each of `barriers`, under conditions or not."""

    loops: set[Var] = field(kw_only=True)
    barriers: BarrierPlacement = field(kw_only=True)

    def by_team(self, program: Program, kernel: Stage, worker: Var, workers: Expr) -> Program:
        """Return the program whose kernel so many workers run, each with its shares."""
        body = For(worker, workers, self.stmt(kernel.body), LoopKind.TEAM)
        stages = (replace(stage, body=body) if stage is kernel else stage for stage in program.stages)
        return replace(program, stages=tuple(stages))

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement."""
        if not isinstance(stmt, For):
            return super().stmt(stmt)
        share = self.share(stmt) if stmt.var in self.loops else super().stmt(stmt)
        if stmt.var in self.barriers.always:
            return block(Barrier(Label("barrier")), share)
        condition = self.crossed(stmt) if stmt.var in self.barriers.crossed else None
        return share if condition is None else block(If(condition, Barrier(Label("barrier"))), share)

    def crossed(self, loop: For) -> Expr | None:
        """Return whether what is before a loop may have been shared out otherwise; None is never."""
        return None

    @abstractmethod
    def share(self, loop: For) -> Stmt:
        """Return what one of those who share a loop does of it."""


class Serial(Rewriter):
    """Makes the parallel loops inside a share serial: they are one worker's."""

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement."""
        if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL:
            stmt = replace(stmt, kind=LoopKind.SERIAL)
        return super().stmt(stmt)
