"""Fuse sums of columns, by blocks of rows, with the loops over the rows that they read."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.analysis.dense_products import dense_products
from ragged.analysis.loop_bodies import loop_of
from ragged.arith.affine import growth
from ragged.arith.fold import floordiv, plus
from ragged.errors import ScheduleError
from ragged.ir.expr import Const, Var
from ragged.ir.program import Program
from ragged.ir.stmt import For, LoopKind, Reduce
from ragged.ir.walk import flat, leaves, loads, read
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.reorder_stmts import reorder_stmts
from ragged.transform.loops.fuse_siblings import fuse_siblings
from ragged.transform.loops.split import Tail, split


def fuse_row_blocks(schedule: LoopSchedule) -> None:
    """Sum up columns of a block of rows right after what is computed in these rows, while they are in caches.

    before::

        for n in parallel(N):
            for k in parallel(K):
                y[n, k] = x[n, k] * z[n, k]
        for b in parallel((N + 15) // 16):
            for k in parallel(K):
                s[b, k] = 0.0
                for r in serial(min(N - b * 16, 16)):
                    s[b, k] += x[b * 16 + r, k]

    after::

        for n_o in parallel((N + 15) // 16):
            for n_i in parallel(min(N - n_o * 16, 16)):
                for k in parallel(K):
                    y[n_o * 16 + n_i, k] = x[n_o * 16 + n_i, k] * z[n_o * 16 + n_i, k]
            for k in parallel(K):
                s[n_o, k] = 0.0
                for r in serial(min(N - n_o * 16, 16)):
                    s[n_o, k] += x[n_o * 16 + r, k]

    The rows are those of the last loop before that reads what is summed, and has no product. What a primitive refuses
    stays as it is. Comes after other nests are fused, and while loops are parallel.
    """
    blocks = [loop.var for loop in _loops_without_products(schedule.program) if _rows_of(loop) is not None]
    for loop in blocks:
        with schedule.attempt(f"fuse blocks of rows '{loop.name}'"):
            _fuse(schedule, loop)


def _loops_without_products(program: Program) -> list[For]:
    """Return the outermost parallel loops of the kernel, but for those of products, which would lose their tiles."""
    products = {each.update for each in dense_products(program)}
    loops = [
        each for each in flat(program.kernel) if isinstance(each, For) and each.kind is LoopKind.PARALLEL
    ]
    return [
        each
        for each in loops
        if products.isdisjoint(leaf.label for leaf in leaves(each) if isinstance(leaf, Reduce))
    ]


def _rows_of(loop: For) -> int | None:
    """Return how many rows the blocks have of which each iteration reduces one; None if it reduces something else."""
    found = (
        growth(index, loop.var)
        for leaf in leaves(loop)
        if isinstance(leaf, Reduce)
        for load in loads(leaf.value)
        for index in load.indices
        if any(growth(index, axis) == 1 for axis in leaf.axes)
    )
    return next((rows for rows in found if rows is not None and rows > 1), None)


def _fuse(schedule: LoopSchedule, blocks: Var) -> None:
    over = loop_of(schedule.program, blocks)
    rows = _rows_of(over)
    assert rows is not None, "it is a loop over blocks"
    loops = _loops_without_products(schedule.program)
    first = _reader(loops[: loops.index(over)], over)
    outer = first.var
    if first.extent != over.extent:
        if over.extent != floordiv(plus(first.extent, Const(rows - 1)), rows):
            raise ScheduleError("as written", because=f"'{first.var.name}' is over no such rows")
        outer = schedule.apply(split, outer, rows, Tail.SHORT).loops[outer][0]
    schedule.apply(reorder_stmts, blocks, outer)
    schedule.apply(fuse_siblings, outer, blocks)


def _reader(loops: Sequence[For], over: For) -> For:
    """Return the last one of some loops that reads what `over` does."""
    summed = {buffer for buffer in read(over) if len(buffer.shape) > 1}
    for loop in reversed(loops):
        if not summed.isdisjoint(read(loop)):
            return loop
    raise ScheduleError("as written", because="no loop before reads the rows")
