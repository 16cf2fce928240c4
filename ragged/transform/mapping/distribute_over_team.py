"""distribute_over_team: distribute independent iterations over a team of workers, with barriers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial, reduce

from ragged.analysis.parallel_regions import ParallelRegion
from ragged.analysis.replicated_loops import ReplicatedLoops
from ragged.arith.fold import ONE, plus, times
from ragged.errors import ScheduleError
from ragged.ir.build import both
from ragged.ir.expr import Binary, Call, Const, Expr, Function, Ref, Select, Source, Var
from ragged.ir.facts import Shares
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten, substitute
from ragged.ir.stmt import For, Let, LoopKind, Stmt
from ragged.passes.serialize_loops import Serialize
from ragged.transform.mapping.work_sharing import Share, Shareable, begin_of_share

_REFUSAL = "distribute_over_team: cannot distribute the kernel over workers"


def distribute_over_team(
    program: Program,
    *,
    min_rows_per_worker: int | None = None,
    replicated: tuple[Var, ...] = (),
    kept_parallel: tuple[Var, ...] = (),
) -> Rewritten:
    """Give each worker of a team of any size a contiguous share of each PARALLEL loop, with barriers where needed.

    Shares have as many iterations, or are those of `balance_shares`. Each iteration does what it did: results have the
    same bits for any number of workers. A barrier stands before a loop that may depend on what came since the last one
    (CORTEX, appendix A.4).

    before::

        for i in parallel(rows):
            y[i] = 2.0 * x[i]

    after `distribute_over_team(program)`::

        for w in team(workers):
            first = w * rows // workers
            for i_s in serial((w + 1) * rows // workers - first):
                i = first + i_s
                y[i] = 2.0 * x[i]

    Args:
        program: its kernel has PARALLEL loops; those inside others become serial.
        min_rows_per_worker: a loop directly in a loop of constant extent is distributed in place of it where it has so
            many iterations per worker; None always distributes the outer loop.
        replicated: loops that every worker runs in full, into its own copy of the workspaces that they write.
        kept_parallel: loops inside others that stay parallel, which `share_nest` shares with these.

    Raises:
        ScheduleError: the kernel has a team already; iterations are not proven independent; an effect stands outside of
            PARALLEL loops, or a statement around them reads a buffer; or an option does not fit the program.
    """
    min_rows = min_rows_per_worker
    if min_rows is not None and min_rows < 1:
        raise ScheduleError(f"{_REFUSAL}: min_rows_per_worker={min_rows}", fix="a number from 1 up")
    kernel = Shareable.of(
        program,
        "distribute_over_team",
        _REFUSAL,
        interchanged=min_rows is not None,
        replicated=replicated,
    )
    workers = Function(program.free_name("workers"), (), Source.CALL)
    share = _ShareOverTeam(
        loops=kernel.loops,
        barriers=kernel.barriers,
        worker=Var("w"),
        workers=Call(workers),
        min_rows=min_rows,
        regions=kernel.regions,
        replicated=kernel.replicated,
        serialize=Serialize(kept=kept_parallel),
        balanced={fact.begin for fact in program.facts if isinstance(fact, Shares)},
    )
    new = share.by_team(program, kernel.kernel, share.worker, share.workers)
    new = kernel.replicated.with_copies(new, share.worker, share.workers)
    return share.finish(program, replace(new, functions=(*program.functions, workers)))


@dataclass
class _ShareOverTeam(Share):
    """Replaces a loop by a worker's share of it."""

    worker: Var = field(kw_only=True)
    workers: Expr = field(kw_only=True)
    min_rows: int | None = field(kw_only=True)
    regions: tuple[ParallelRegion, ...] = field(kw_only=True)
    replicated: ReplicatedLoops = field(kw_only=True)
    balanced: Collection[Function] = field(kw_only=True)
    serialize: Serialize = field(kw_only=True)

    def share(self, loop: For) -> Stmt:
        if any(region.loop.var is loop.var for region in self.replicated.regions):
            return self._replicated(loop)
        inner = None if self.min_rows is None else self._region(loop).rows
        if inner is None:
            return self._share(loop, Ref(self.worker), self.workers, self.serialize.stmt(loop.body))
        by_rows, zero = self._by_rows(inner.extent), Const(0)
        row, rows, column, columns = Var("row"), Var("rows"), Var("column"), Var("columns")
        block = self._share(inner, Ref(row), Ref(rows), self.serialize.stmt(inner.body))
        share: Stmt = self._share(loop, Ref(column), Ref(columns), block)
        share = Let(columns, Select(by_rows, ONE, self.workers), share)
        share = Let(column, Select(by_rows, zero, Ref(self.worker)), share)
        return self._bind_rows(by_rows, row, rows, share)

    def _replicated(self, loop: For) -> Stmt:
        """Return a whole replicated loop; where rows are distributed and the worker reads only its rows, these."""
        if loop.var not in self.replicated.by_rows:
            return self.serialize.stmt(replace(loop, kind=LoopKind.SERIAL))
        row, rows = Var("row"), Var("rows")
        share = self._share(loop, Ref(row), Ref(rows), self.serialize.stmt(loop.body))
        return self._bind_rows(self._by_rows(loop.extent), row, rows, share)

    def _bind_rows(self, by_rows: Expr, row: Var, rows: Var, share: Stmt) -> Stmt:
        """Bind the number of a worker's share of the rows, and the number of shares."""
        share = Let(rows, Select(by_rows, self.workers, ONE), share)
        return Let(row, Select(by_rows, Ref(self.worker), Const(0)), share)

    def _share(self, loop: For, worker: Expr, workers: Expr, body: Stmt) -> Stmt:
        """Return the loop over share `worker` of `workers` of a loop."""
        first, place = Var("first"), self.copied_loop(loop.var, "s")
        count = Binary(BinaryOp.SUB, self._begin(loop.extent, plus(worker, ONE), workers), Ref(first))
        inside = Let(loop.var, plus(Ref(first), Ref(place)), body)
        shared = replace(loop, var=place, extent=count, body=inside, kind=LoopKind.SERIAL)
        return Let(first, self._begin(loop.extent, worker, workers), shared)

    def _begin(self, extent: Expr, worker: Expr, workers: Expr) -> Expr:
        """Return the first iteration of a worker's share: of as many iterations, or as `balance_shares` says."""
        match extent:
            case Call(function=begin, args=(count,)) if begin in self.balanced:
                return Call(begin, (self._begin(count, worker, workers),))
            case _:
                return begin_of_share(worker, extent, workers)

    def barrier_condition(self, loop: For) -> Expr | None:
        here = self._region(loop)
        adjacent = ((region, region.rows) for region in self.regions if region.is_adjacent(here))
        extents = dict.fromkeys(
            region.site.expand(rows.extent) for region, rows in adjacent if rows is not None
        )
        now = reduce(partial(Binary, BinaryOp.OR), map(self._by_rows, extents))
        carrier = self.barriers.carried.get(loop.var)
        if carrier is None:
            return now
        before = substitute(now, {carrier: Binary(BinaryOp.SUB, Ref(carrier), ONE)})
        again = Binary(BinaryOp.GE, Ref(carrier), ONE)
        return Binary(BinaryOp.OR, now, both(again, before))

    def _region(self, loop: For) -> ParallelRegion:
        return next(region for region in self.regions if region.loop.var is loop.var)

    def _by_rows(self, extent: Expr) -> Expr:
        """Return whether so many rows are distributed, and not columns."""
        assert self.min_rows is not None
        return Binary(BinaryOp.GE, extent, times(self.workers, Const(self.min_rows)))
