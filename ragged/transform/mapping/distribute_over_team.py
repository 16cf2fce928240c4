"""distribute_over_team: distribute independent iterations over a team of workers, with barriers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce

from ragged.analysis.parallel_regions import ParallelRegion
from ragged.analysis.replicated_loops import ReplicatedLoops, SelectCopy
from ragged.arith.fold import ONE, plus, times
from ragged.errors import ScheduleError
from ragged.ir.build import both
from ragged.ir.expr import Binary, Buffer, Call, Const, Expr, Function, Ref, Select, Source, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten, substitute
from ragged.ir.stmt import For, Let, LoopKind, Stmt
from ragged.transform.mapping.work_sharing import Serial, Share, Shareable
from ragged.transform.storage.rolling_buffers import RollingBuffer

_REFUSAL = "distribute_over_team: cannot share the kernel out to workers"


def distribute_over_team(
    program: Program,
    *,
    min_rows_per_worker: int | None = None,
    replicated: tuple[Var, ...] = (),
    rolling_buffers: tuple[RollingBuffer, ...] = (),
) -> Rewritten:
    """Give each worker of a team of any size a contiguous share of each PARALLEL loop, with barriers where needed.

    Each iteration does what it did: results have the same bits for any number of workers. A barrier stands before a
    loop that may depend on what came since the last one (CORTEX, appendix A.4).

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
        min_rows_per_worker: a loop of constant extent around a PARALLEL one is shared out, each time, by the inner
            loop where that has so many iterations for each worker; None shares out the outer one always.
        replicated: loops that every worker runs in full, into its own copy of the workspaces that they write.
        rolling_buffers: workspaces sized for one iteration of a loop, with a copy for each share of rows.

    Raises:
        ScheduleError: iterations are not proven independent; an effect stands outside of PARALLEL loops, or what stands
            around them depends on what the kernel writes; or an option does not fit the program.
    """
    wide = min_rows_per_worker
    if wide is not None and wide < 1:
        raise ScheduleError(f"{_REFUSAL}: rows from {wide} a worker on", fix="a number from 1 up")
    if rolling_buffers and wide is None:
        raise ScheduleError(
            f"{_REFUSAL}: rolling buffers for shares of rows, and no rows are shared out",
            fix="give min_rows_per_worker; else rebase_storage makes rolling buffers",
        )
    found = Shareable.of(
        program,
        "distribute_over_team",
        _REFUSAL,
        aligned=True,
        crossed=wide is not None,
        own=replicated,
        rooms=tuple(RollingBuffer(*each) for each in rolling_buffers),
    )
    workers = Function(program.free_name("workers"), (), Source.CALL)
    share = _ShareOverTeam(
        loops=found.loops,
        barriers=found.barriers,
        worker=Var("w"),
        workers=Call(workers),
        wide=wide,
        phases=found.phases,
        own=found.own,
        rooms={old: old.stacked(Call(workers)) for old in found.rooms},
    )
    new = share.by_team(found.program, found.kernel, share.worker, share.workers)
    new = found.own.copies(new, share.worker, share.workers)
    new = replace(new, buffers=tuple(share.rooms.get(each, each) for each in new.buffers))
    return share.finish(program, replace(new, functions=(*program.functions, workers)))


@dataclass
class _ShareOverTeam(Share):
    """Gives a worker its share."""

    worker: Var = field(kw_only=True)
    workers: Expr = field(kw_only=True)
    wide: int | None = field(kw_only=True)
    phases: tuple[ParallelRegion, ...] = field(kw_only=True)
    own: ReplicatedLoops = field(kw_only=True)
    rooms: Mapping[Buffer, Buffer] = field(kw_only=True)

    def share(self, loop: For) -> Stmt:
        if any(phase.loop.var is loop.var for phase in self.own.phases):
            return self._own(loop)
        inner = None if self.wide is None else self._phase(loop).rows
        if inner is None:
            return self._share(loop, Ref(self.worker), self.workers, Serial().stmt(loop.body))
        wide, zero = self._is_wide(inner.extent), Const(0)
        row, rows, column, columns = Var("row"), Var("rows"), Var("column"), Var("columns")
        block = self._share(inner, Ref(row), Ref(rows), Serial().stmt(inner.body))
        made: Stmt = self._share(loop, Ref(column), Ref(columns), block)
        made = Let(columns, Select(wide, ONE, self.workers), made)
        made = Let(column, Select(wide, zero, Ref(self.worker)), made)
        return self._by_rows(wide, row, rows, made)

    def _own(self, loop: For) -> Stmt:
        """Return all of a loop, or the worker's rows of it where rows are shared out and he needs those alone."""
        if loop.var not in self.own.by_rows:
            return Serial().stmt(replace(loop, kind=LoopKind.SERIAL))
        row, rows = Var("row"), Var("rows")
        made = self._share(loop, Ref(row), Ref(rows), Serial().stmt(loop.body))
        return self._by_rows(self._is_wide(loop.extent), row, rows, made)

    def _by_rows(self, wide: Expr, row: Var, rows: Var, made: Stmt) -> Stmt:
        """Bind the worker's share of rows, which has a room of its own: his where there are many, and else all."""
        made = SelectCopy(bigger=self.rooms, copy=row).stmt(made)
        made = Let(rows, Select(wide, self.workers, ONE), made)
        return Let(row, Select(wide, Ref(self.worker), Const(0)), made)

    def _share(self, loop: For, worker: Expr, workers: Expr, body: Stmt) -> Stmt:
        """Return one of so many shares of a loop."""
        first, place = Var("first"), self.copied_loop(loop.var, "s")
        count = Binary(BinaryOp.SUB, _begin(loop.extent, plus(worker, ONE), workers), Ref(first))
        inside = Let(loop.var, plus(Ref(first), Ref(place)), body)
        shared = replace(loop, var=place, extent=count, body=inside, kind=LoopKind.SERIAL)
        return Let(first, _begin(loop.extent, worker, workers), shared)

    def crossed(self, loop: For) -> Expr | None:
        here = self._phase(loop)
        near = ((phase, phase.rows) for phase in self.phases if phase.is_beside(here))
        extents = dict.fromkeys(phase.site.expand(rows.extent) for phase, rows in near if rows is not None)
        now = reduce(partial(Binary, BinaryOp.OR), map(self._is_wide, extents))
        carrier = self.barriers.carried.get(loop.var)
        if carrier is None:
            return now
        before = substitute(now, {carrier: Binary(BinaryOp.SUB, Ref(carrier), ONE)})
        again = Binary(BinaryOp.GE, Ref(carrier), ONE)
        return Binary(BinaryOp.OR, now, both(again, before))

    def _phase(self, loop: For) -> ParallelRegion:
        return next(phase for phase in self.phases if phase.loop.var is loop.var)

    def _is_wide(self, extent: Expr) -> Expr:
        assert self.wide is not None
        return Binary(BinaryOp.GE, extent, times(self.workers, Const(self.wide)))


def _begin(extent: Expr, worker: Expr, workers: Expr) -> Expr:
    """Return where the share of a worker begins."""
    return Binary(BinaryOp.FLOORDIV, Binary(BinaryOp.MUL, worker, extent), workers)
