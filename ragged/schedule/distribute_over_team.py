"""distribute_over_team: a kernel's independent iterations, shared out to workers who walk through it together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.ir.expr import Binary, Call, Const, Expr, Function, Ref, Source, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import For, Let, LoopKind, Stmt
from ragged.schedule.sharing import Serial, Share, Shareable

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
    found = Shareable.of(program, "distribute_over_team", _REFUSAL)
    workers = Function(program.free_name("workers"), (), Source.CALL)
    share = _Share(loops=found.loops, barriers=found.barriers, worker=Var("w"), workers=Call(workers))
    new = share.by_team(program, found.kernel, share.worker, share.workers)
    return share.finish(program, replace(new, functions=(*program.functions, workers)))


@dataclass
class _Share(Share):
    """Gives a worker its share."""

    worker: Var = field(kw_only=True)
    workers: Expr = field(kw_only=True)

    def share(self, loop: For) -> Stmt:
        first, place = Var("first"), self.copied_loop(loop.var, "s")
        count = Binary(BinaryOp.SUB, self._begin(loop.extent, _one_more(Ref(self.worker))), Ref(first))
        body = Let(loop.var, Binary(BinaryOp.ADD, Ref(first), Ref(place)), Serial().stmt(loop.body))
        shared = replace(loop, var=place, extent=count, body=body, kind=LoopKind.SERIAL)
        return Let(first, self._begin(loop.extent, Ref(self.worker)), shared)

    def _begin(self, extent: Expr, worker: Expr) -> Expr:
        """Return where the share of a worker begins."""
        return Binary(BinaryOp.FLOORDIV, Binary(BinaryOp.MUL, worker, extent), self.workers)


def _one_more(expr: Expr) -> Expr:
    return Binary(BinaryOp.ADD, expr, Const(1))
