"""distribute_over_threads: distribute the iterations of a block over its threads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.analysis.parallel_regions import ParallelRegion, barriers_before, outermost_parallel
from ragged.arith.fold import plus, times
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, MemoryScope, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import Alloc, Barrier, BarrierScope, For, Label, Let, LoopKind, Stmt, block
from ragged.transform.mapping.work_sharing import Serial, check_effects, held_by_workers

_REFUSAL = "distribute_over_threads: cannot share the kernel out to threads"


def distribute_over_threads(program: Program, threads: int) -> Rewritten:
    """Let `threads` threads run each worker of the kernel's team: in turn they take the iterations of PARALLEL loops.

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

    The outermost parallel loops in the team's are shared out; those inside of them are one thread's. A barrier of the
    block stands before a loop that may depend on what another thread of the block did since the last barrier, of the
    block or of all: as `distribute_over_team` has it for workers. The loop's forwarding is the loop over a share.

    Raises:
        ScheduleError: there is no thread, or no team whose workers could be blocks; something with an effect stands
            outside of the parallel loops, or they read what is allocated in between; what stands around them depends
            on what the kernel writes.
    """
    if threads < 1:
        raise ScheduleError(f"{_REFUSAL}: {threads} of them", fix="a number from 1 up")
    stage = program.stage(StageKind.KERNEL)
    assert stage is not None, "a verified program has a kernel"
    team, held, inside = _team(stage)
    phases = outermost_parallel(inside)
    check_effects(_REFUSAL, inside.stmt, [_without(phase, len(inside.around)) for phase in phases], "thread")
    share = _ShareOverThreads(
        loops={phase.loop.var for phase in phases},
        barriers=barriers_before(program, inside, phases).always,
        thread=Var("t"),
        threads=threads,
    )
    body: Stmt = For(share.thread, Const(threads), share.stmt(inside.stmt), LoopKind.THREADS)
    for alloc in reversed(held):
        body = replace(alloc, body=body)
    whole = replace(team, body=body)
    stages = tuple(replace(each, body=whole) if each is stage else each for each in program.stages)
    return share.finish(program, replace(program, stages=stages))


def _team(stage: Stage) -> tuple[For, tuple[Alloc, ...], Site]:
    """Return the team's loop that a stage is, what is allocated for all of a worker, and where the rest stands."""
    team = stage.body
    if not isinstance(team, For) or team.kind is not LoopKind.TEAM:
        raise ScheduleError(_REFUSAL, because="it is no team's loop", fix="distribute_over_blocks first")
    held, body = held_by_workers(team)
    for alloc in held:
        if alloc.buffer.scope is not MemoryScope.SHARED:
            raise ScheduleError(
                _REFUSAL,
                because=f"'{alloc.buffer.name}' is each worker's, and threads of a block have no common stack",
                fix="allocate it in shared memory",
            )
    return team, held, Site(stage, body, (team, *held))


def _without(phase: ParallelRegion, outer: int) -> ParallelRegion:
    """Return a phase as seen from inside of the outermost constructs around it."""
    return replace(phase, site=replace(phase.site, around=phase.site.around[outer:]))


@dataclass
class _ShareOverThreads(Rewriter):
    """Gives a thread its share of the iterations of `loops`, and puts a barrier before each of `barriers`."""

    loops: set[Var] = field(kw_only=True)
    barriers: set[Var] = field(kw_only=True)
    thread: Var = field(kw_only=True)
    threads: int = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For):
            return super().stmt(stmt)
        share = self._share(stmt) if stmt.var in self.loops else super().stmt(stmt)
        met = Barrier(Label("barrier"), BarrierScope.BLOCK)
        return block(met, share) if stmt.var in self.barriers else share

    def _share(self, loop: For) -> Stmt:
        place = self.copied_loop(loop.var, "s")
        left = Binary(BinaryOp.SUB, loop.extent, Ref(self.thread))
        count = Binary(BinaryOp.FLOORDIV, plus(left, Const(self.threads - 1)), Const(self.threads))
        mine = plus(times(Ref(place), Const(self.threads)), Ref(self.thread))
        body = Let(loop.var, mine, Serial().stmt(loop.body))
        return replace(loop, var=place, extent=count, body=body, kind=LoopKind.SERIAL)
