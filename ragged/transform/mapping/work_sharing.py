"""Legality and rewriting shared by the primitives that distribute parallel loops over workers, blocks or threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.barrier_placement import BarrierPlacement, place_barriers
from ragged.analysis.blocks import divided_into_blocks
from ragged.analysis.dependence import Copies, find_conflict
from ragged.analysis.parallel_regions import ParallelRegion, outermost_parallel, region_at
from ragged.analysis.ragged_blocks import ragged_blocks
from ragged.analysis.replicated_loops import ReplicatedLoops
from ragged.analysis.unfused import unfused_loops
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Call, Expr, Var
from ragged.ir.facts import Shares
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.rewrite import Rewriter
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import Alloc, Barrier, Check, For, If, Label, LoopKind, Stmt, block
from ragged.ir.walk import leaves, statements
from ragged.prove import Proof, prover_of
from ragged.transform.locate import Replace


def check_effects(
    refusal: str, body: Stmt, regions: Sequence[ParallelRegion], runner: str = "worker"
) -> None:
    """Return if all effects of `body` are in the parallel regions, and no statement around these reads a buffer.

    Raises:
        ScheduleError: an effect is elsewhere, so that every `runner`, a worker or thread, would repeat it; or a
            statement around a region reads a buffer, which runners would see at different times.
    """
    if not regions:
        raise ScheduleError(refusal, because="it has no parallel loop")
    inside = {label for region in regions for label in region.labels}
    for leaf in leaves(body):
        if leaf.label not in inside:
            if isinstance(leaf, Barrier) and runner == "thread":
                continue  # all threads of all blocks reach it
            raise ScheduleError(
                refusal,
                at=leaf.at,
                because=f"'{leaf.label.name}' stands outside its parallel loops: every {runner} would execute it",
            )
    for region in regions:
        for buffer in region.reads_around:
            raise ScheduleError(
                refusal,
                because=f"a statement around loop '{region.loop.var.name}' reads '{buffer.name}', and {runner}s "
                "would read it at different times",
            )


def check_undistributed(refusal: str, body: Stmt, kind: LoopKind) -> None:
    """Return if `body` has no loop of `kind`: over workers, or over threads.

    Raises:
        ScheduleError: one is: the parallel loops in it are already distributed.
    """
    for stmt in statements(body):
        if isinstance(stmt, For) and stmt.kind is kind:
            raise ScheduleError(refusal, because=f"'{stmt.var.name}' is a {kind.value} loop already")


def check_independent(primitive: str, program: Program, region: ParallelRegion) -> None:
    """Return if no two iterations of a region touch one element that one of them writes.

    Raises:
        ScheduleError: that is not proven.
    """
    loops = unfused_loops(_with_total(program, region.loop))
    if len(loops) > 1:  # a question about each variable, instead of one about their quotients and remainders
        apart = Replace(loop=region.loop.var, change=lambda found, owner: loops[0]).program(program).program
        for loop in loops:
            site = next(each for each in sites(apart) if each.stmt is loop)
            check_independent(primitive, apart, region_at(site))
        return
    var = region.loop.var

    def distinct(first: Copies, second: Copies) -> tuple[Expr, ...]:
        return (Binary(BinaryOp.LT, first[var], second[var]),)

    # A failed check ends the program, in whatever order iterations run.
    inside = [site for site in region.inside if not isinstance(site.stmt, Check)]
    blocks = divided_into_blocks(inside, var)
    blocks |= set(ragged_blocks(program, inside, var, region.depth, blocks))
    conflict = find_conflict(
        program, inside, inside, region.depth, distinct, about=lambda buffer: buffer not in blocks
    )
    if conflict is not None:
        raise ScheduleError(
            f"{primitive}: the iterations of loop '{var.name}' are not proven to be independent",
            at=region.loop.at,
            because=str(conflict),
            example=conflict.example,
        )


def _with_total(program: Program, loop: For) -> For:
    """Return a loop over all shares of `balance_shares` as one over the iterations that they are shares of."""
    for fact in program.facts:
        if isinstance(fact, Shares) and loop.extent == Call(fact.begin, (Call(fact.count),)):
            same = Binary(BinaryOp.EQ, loop.extent, fact.total)
            is_known = isinstance(prover_of(program).prove(same), Proof)
            return replace(loop, extent=fact.total) if is_known else loop
    return loop


def begin_of_share(worker: Expr, extent: Expr, workers: Expr) -> Expr:
    """Return the first iteration of a worker's share of a loop: all shares have as many iterations, or one more."""
    return Binary(BinaryOp.FLOORDIV, Binary(BinaryOp.MUL, worker, extent), workers)


def split_allocations(team: For) -> tuple[tuple[Alloc, ...], Stmt]:
    """Return the allocations around the body of a team's loop, outermost first, and the statement inside them."""
    allocations: list[Alloc] = []
    body = team.body
    while isinstance(body, Alloc):
        allocations.append(body)
        body = body.body
    return tuple(allocations), body


@dataclass(frozen=True, slots=True)
class Shareable:
    """A kernel with parallel regions that may be distributed, and the barriers that this needs."""

    kernel: Stage
    loops: set[Var]
    barriers: BarrierPlacement
    regions: tuple[ParallelRegion, ...]
    replicated: ReplicatedLoops

    @classmethod
    def of(
        cls,
        program: Program,
        primitive: str,
        refusal: str,
        *,
        interchanged: bool = False,
        replicated: Iterable[Var] = (),
    ) -> Shareable:
        """Return the kernel of a program as `primitive` may distribute it.

        `interchanged` is as in `place_barriers`; every worker runs the loops in `replicated`.

        Raises:
            ScheduleError: as `check_undistributed`, `check_effects`, `check_independent` and `ReplicatedLoops.of` do.
        """
        kernel = program.stage(StageKind.KERNEL)
        assert kernel is not None, "a verified program has a kernel"
        regions = outermost_parallel(Site(kernel, kernel.body))
        check_undistributed(refusal, kernel.body, LoopKind.TEAM)
        check_effects(refusal, kernel.body, regions)
        for region in regions:
            check_independent(primitive, program, region)
        copies = ReplicatedLoops.of(program, regions, replicated, refusal, interchanged=interchanged)
        barriers = place_barriers(
            program,
            Site(kernel, kernel.body),
            regions,
            same_extent=True,
            interchanged=interchanged,
            replicated=copies.buffers,
        )
        loops = {region.loop.var for region in regions}
        return cls(kernel, loops, barriers, tuple(regions), copies)


@dataclass
class Share(Rewriter, ABC):
    """Replaces each of `loops` by one worker's share of its iterations, and inserts `barriers`."""

    loops: set[Var] = field(kw_only=True)
    barriers: BarrierPlacement = field(kw_only=True)

    def by_team(self, program: Program, kernel: Stage, worker: Var, num_workers: Expr) -> Program:
        """Return the program with its kernel run by a team, each worker with its share."""
        body = For(worker, num_workers, self.stmt(kernel.body), LoopKind.TEAM)
        stages = (replace(stage, body=body) if stage is kernel else stage for stage in program.stages)
        return replace(program, stages=tuple(stages))

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement."""
        if not isinstance(stmt, For):
            return super().stmt(stmt)
        share = self.share(stmt) if stmt.var in self.loops else super().stmt(stmt)
        if stmt.var in self.barriers.always:
            return block(Barrier(Label("barrier")), share)
        condition = self.barrier_condition(stmt) if stmt.var in self.barriers.interchanged else None
        return share if condition is None else block(If(condition, Barrier(Label("barrier"))), share)

    def barrier_condition(self, loop: For) -> Expr | None:
        """Return when a region before a loop may have been distributed by rows; None if never."""
        return None

    @abstractmethod
    def share(self, loop: For) -> Stmt:
        """Return the loop over one worker's share of a loop's iterations."""
