"""distribute_over_blocks: distribute independent iterations over the blocks of a GPU grid."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.arith.fold import plus, times
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import For, Let, LoopKind, Stmt
from ragged.ir.walk import statements
from ragged.transform.mapping.work_sharing import Share, Shareable

_REFUSAL = "distribute_over_blocks: cannot distribute the kernel over blocks"


def distribute_over_blocks(program: Program, blocks: int) -> Rewritten:
    """Give each of `blocks` blocks of a grid a contiguous share of each PARALLEL loop of the kernel.

    before::

        for b in serial(num_batches):
            for i in parallel(64):
                for n in parallel(batch_length(b)):
                    h[batch_begin(b) + n, i] = tanh(x[i, batch_begin(b) + n])

    after `distribute_over_blocks(program, 16)`::

        for w in team(16):
            for b in serial(num_batches):
                barrier(team)
                first = w * 4
                for i_s in serial(4):
                    i = first + i_s
                    for n in parallel(batch_length(b)):
                        h[batch_begin(b) + n, i] = tanh(x[i, batch_begin(b) + n])

    As `distribute_over_team`, with two differences. Parallel loops inside a share stay parallel, for the threads of a
    block; without any, the loop over the share does. And the number of blocks is known: one block has the same
    iterations of all loops of equal constant extent, and values that it passes on to itself need no barrier. The
    forwarding of a loop is the loop over a share.

    Raises:
        ScheduleError: `blocks` is below 1; or as `distribute_over_team` does.
    """
    if blocks < 1:
        raise ScheduleError(f"{_REFUSAL}: {blocks} blocks", fix="a number from 1 up")
    kernel = Shareable.of(program, "distribute_over_blocks", _REFUSAL)
    share = _ShareOverBlocks(loops=kernel.loops, barriers=kernel.barriers, block=Var("w"), blocks=blocks)
    return share.finish(program, share.by_team(program, kernel.kernel, share.block, Const(blocks)))


@dataclass
class _ShareOverBlocks(Share):
    """Replaces a loop by a block's share of it."""

    block: Var = field(kw_only=True)
    blocks: int = field(kw_only=True)

    def share(self, loop: For) -> Stmt:
        first, place = Var("first"), self.copied_loop(loop.var, "s")
        begin, count = self._begin_and_count(loop.extent, first)
        body = Let(loop.var, plus(Ref(first), Ref(place)), loop.body)
        inner = any(
            isinstance(each, For) and each.kind is LoopKind.PARALLEL for each in statements(loop.body)
        )
        kind = LoopKind.SERIAL if inner else LoopKind.PARALLEL
        return Let(first, begin, replace(loop, var=place, extent=count, body=body, kind=kind))

    def _begin_and_count(self, extent: Expr, first: Var) -> tuple[Expr, Expr]:
        """Return the first iteration of a block's share, and their number."""
        if isinstance(extent, Const) and int(extent.value) % self.blocks == 0:
            each = Const(int(extent.value) // self.blocks)
            return times(Ref(self.block), each), each
        end = self._begin(extent, plus(Ref(self.block), Const(1)))
        return self._begin(extent, Ref(self.block)), Binary(BinaryOp.SUB, end, Ref(first))

    def _begin(self, extent: Expr, worker: Expr) -> Expr:
        return Binary(BinaryOp.FLOORDIV, times(worker, extent), Const(self.blocks))
