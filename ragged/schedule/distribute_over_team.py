"""distribute_over_team: a kernel's independent iterations, shared out to workers who walk through it together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Call, Const, Expr, Function, Ref, Source, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import Barrier, Check, For, Label, Let, LoopKind, Reduce, Stmt, Store, block
from ragged.ir.walk import leaves
from ragged.schedule.dependence import Copies, find_conflict
from ragged.schedule.phases import Phase, barriers_before, outermost_parallel

_REFUSAL = "distribute_over_team: cannot share the kernel out to workers"


def distribute_over_team(program: Program) -> Rewritten:
    """Make the kernel one that a team of any size runs: each worker a contiguous share of each PARALLEL loop.

    before::

        for b in serial(num_batches):
            for n in parallel(batch_length(b)):
                node = batch_begin(b) + n
                h[node] = tanh(h[left(node)])

    after::

        for w in team(workers):
            for b in serial(num_batches):
                barrier(team)
                first = w * batch_length(b) // workers
                for n_s in serial((w + 1) * batch_length(b) // workers - first):
                    n = first + n_s
                    node = batch_begin(b) + n
                    h[node] = tanh(h[left(node)])

    `workers` is a new size, which each call says. What each iteration does stays as it was, so results have the same
    bits for any number of workers. A barrier stands before a loop that may depend on what came since the last one, in
    the loop that carries the dependence (CORTEX, appendix A.4). PARALLEL loops inside others are run by one worker,
    one iteration after another. The loop's forwarding is the loop over a share.

    Raises:
        ScheduleError: something with an effect stands outside the kernel's PARALLEL loops, what stands around them
            depends on what the kernel writes, or two iterations of one of them are not proven to be independent.
    """
    stage = program.stage(StageKind.KERNEL)
    assert stage is not None, "a verified program has a kernel"
    phases = outermost_parallel(stage)
    _check_effects(stage, phases)
    for phase in phases:
        _check_independent(program, phase)
    workers = Function(program.free_name("workers"), (), Source.CALL)
    share = _Share(
        loops={phase.loop.var for phase in phases},
        barriers=barriers_before(program, stage, phases),
        worker=Var("w"),
        workers=Call(workers),
    )
    body = For(share.worker, share.workers, share.stmt(stage.body), LoopKind.TEAM)
    stages = tuple(replace(each, body=body) if each is stage else each for each in program.stages)
    functions = (*program.functions, workers)
    return share.finish(program, replace(program, functions=functions, stages=stages))


def _check_effects(stage: Stage, phases: list[Phase]) -> None:
    """Return if what has an effect stands in the phases, and what stands around them stays as it is."""
    if not phases:
        raise ScheduleError(_REFUSAL, because="it has no parallel loop")
    inside = {label for phase in phases for label in phase.labels}
    for leaf in leaves(stage.body):
        if isinstance(leaf, Store | Reduce | Check | Barrier) and leaf.label not in inside:
            raise ScheduleError(
                _REFUSAL,
                at=leaf.at,
                because=f"'{leaf.label.name}' stands outside its parallel loops: every worker would do it",
            )
    for phase in phases:
        for buffer in phase.reads_around:
            raise ScheduleError(
                _REFUSAL,
                because=f"what stands around loop '{phase.loop.var.name}' reads '{buffer.name}', and "
                "workers look at different times",
            )


def _check_independent(program: Program, phase: Phase) -> None:
    def apart(first: Copies, second: Copies) -> tuple[Expr, ...]:
        return (Binary(BinaryOp.LT, first[phase.loop.var], second[phase.loop.var]),)

    # A check ends the program wherever iterations are; their order does not matter to it.
    inside = [site for site in phase.inside if not isinstance(site.stmt, Check)]
    conflict = find_conflict(program, inside, inside, phase.depth, apart)
    if conflict is not None:
        raise ScheduleError(
            f"distribute_over_team: the iterations of loop '{phase.loop.var.name}' are not proven to be independent",
            at=phase.loop.at,
            because=str(conflict),
            example=conflict.example,
        )


@dataclass
class _Share(Rewriter):
    """Gives a worker its share of the iterations of `loops`, and puts a barrier before each of `barriers`."""

    loops: set[Var] = field(kw_only=True)
    barriers: set[Var] = field(kw_only=True)
    worker: Var = field(kw_only=True)
    workers: Expr = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For):
            return super().stmt(stmt)
        share = self._share(stmt) if stmt.var in self.loops else super().stmt(stmt)
        return block(Barrier(Label("barrier")), share) if stmt.var in self.barriers else share

    def _share(self, loop: For) -> Stmt:
        first, place = Var("first"), self.copied_loop(loop.var, "s")
        count = Binary(BinaryOp.SUB, self._begin(loop.extent, _one_more(Ref(self.worker))), Ref(first))
        body = Let(loop.var, Binary(BinaryOp.ADD, Ref(first), Ref(place)), _Serial().stmt(loop.body))
        shared = replace(loop, var=place, extent=count, body=body, kind=LoopKind.SERIAL)
        return Let(first, self._begin(loop.extent, Ref(self.worker)), shared)

    def _begin(self, extent: Expr, worker: Expr) -> Expr:
        """Return where the share of a worker begins."""
        return Binary(BinaryOp.FLOORDIV, Binary(BinaryOp.MUL, worker, extent), self.workers)


class _Serial(Rewriter):
    """Makes the parallel loops inside a share serial: they are one worker's."""

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL:
            stmt = replace(stmt, kind=LoopKind.SERIAL)
        return super().stmt(stmt)


def _one_more(expr: Expr) -> Expr:
    return Binary(BinaryOp.ADD, expr, Const(1))
