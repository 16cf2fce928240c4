"""distribute_over_threads: distribute the iterations of a block over its threads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.analysis.barrier_placement import place_barriers
from ragged.analysis.parallel_regions import ParallelRegion, outermost_parallel
from ragged.arith.fold import plus, times
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Ref, Var
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import Alloc, Barrier, BarrierScope, For, Label, Let, LoopKind, Stmt, block
from ragged.passes.serialize_loops import Serialize
from ragged.transform.mapping.work_sharing import check_effects, check_undistributed, split_allocations

_REFUSAL = "distribute_over_threads: cannot distribute the kernel over threads"


def distribute_over_threads(program: Program, threads: int) -> Rewritten:
    """Distribute the PARALLEL loops of each block over `threads` threads, cyclically.

    before::

        for w in team(16):
            U_chip = local(float32[64], scope=shared)
            for j in parallel(64):
                U_chip[j] = U[w, j]
            for b in serial(num_batches):
                barrier(team)
                for n in parallel(batch_length(b)):
                    h[batch_begin(b) + n, w] = tanh(x[batch_begin(b) + n] * U_chip[0])

    after `distribute_over_threads(program, 32)`::

        for w in team(16):
            U_chip = local(float32[64], scope=shared)
            for t in threads(32):
                for j_s in serial((64 - t + 31) // 32):
                    j = j_s * 32 + t
                    U_chip[j] = U[w, j]
                for b in serial(num_batches):
                    barrier(team)
                    for n_s in serial((batch_length(b) - t + 31) // 32):
                        n = n_s * 32 + t
                        h[batch_begin(b) + n, w] = tanh(x[batch_begin(b) + n] * U_chip[0])

    The outermost parallel loops of the team are distributed; parallel loops inside them become serial. A barrier of
    the block stands before a loop that may depend on another thread's writes since the last barrier, as in
    `distribute_over_team`. The forwarding of a loop is the loop over a share.

    Raises:
        ScheduleError: `threads` is below 1; the kernel has no team, or has threads already; an effect stands outside of
            the parallel loops; or a statement around them reads a buffer, or allocates one that is not in shared
            memory.
    """
    if threads < 1:
        raise ScheduleError(f"{_REFUSAL}: {threads} threads", fix="a number from 1 up")
    stage = program.stage(StageKind.KERNEL)
    assert stage is not None, "a verified program has a kernel"
    team, allocations, inside = _team(stage)
    check_undistributed(_REFUSAL, inside.stmt, LoopKind.THREADS)
    regions = outermost_parallel(inside)
    check_effects(
        _REFUSAL, inside.stmt, [_without(region, len(inside.around)) for region in regions], "thread"
    )
    share = _ShareOverThreads(
        loops={region.loop.var for region in regions},
        barriers=place_barriers(program, inside, regions).always,
        thread=Var("t"),
        threads=threads,
    )
    body: Stmt = For(share.thread, Const(threads), share.stmt(inside.stmt), LoopKind.THREADS)
    for alloc in reversed(allocations):
        body = replace(alloc, body=body)
    whole = replace(team, body=body)
    stages = tuple(replace(each, body=whole) if each is stage else each for each in program.stages)
    return share.finish(program, replace(program, stages=stages))


def _team(stage: Stage) -> tuple[For, tuple[Alloc, ...], Site]:
    """Return a stage's team loop, the allocations around its body, and the site of the statement inside these."""
    team = stage.body
    if not isinstance(team, For) or team.kind is not LoopKind.TEAM:
        raise ScheduleError(_REFUSAL, because="it is no team loop", fix="distribute_over_blocks first")
    allocations, body = split_allocations(team)
    for alloc in allocations:
        if alloc.buffer.scope is not MemoryScope.SHARED:
            raise ScheduleError(
                _REFUSAL,
                because=f"'{alloc.buffer.name}' is on a worker's stack, and the threads of a block share no stack",
                fix="allocate it in shared memory",
            )
    return team, allocations, Site(stage, body, (team, *allocations))


def _without(region: ParallelRegion, outer: int) -> ParallelRegion:
    """Return a region without the `outer` outermost constructs of its site."""
    return replace(region, site=replace(region.site, around=region.site.around[outer:]))


@dataclass
class _ShareOverThreads(Rewriter):
    """Replaces each of `loops` by a thread's share of it, and inserts a barrier before each of `barriers`."""

    loops: set[Var] = field(kw_only=True)
    barriers: set[Var] = field(kw_only=True)
    thread: Var = field(kw_only=True)
    threads: int = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For):
            return super().stmt(stmt)
        share = self._share(stmt) if stmt.var in self.loops else super().stmt(stmt)
        barrier = Barrier(Label("barrier"), BarrierScope.BLOCK)
        return block(barrier, share) if stmt.var in self.barriers else share

    def _share(self, loop: For) -> Stmt:
        place = self.copied_loop(loop.var, "s")
        left = Binary(BinaryOp.SUB, loop.extent, Ref(self.thread))
        count = Binary(BinaryOp.FLOORDIV, plus(left, Const(self.threads - 1)), Const(self.threads))
        iteration = plus(times(Ref(place), Const(self.threads)), Ref(self.thread))
        body = Let(loop.var, iteration, Serialize().stmt(loop.body))
        return replace(loop, var=place, extent=count, body=body, kind=LoopKind.SERIAL)
