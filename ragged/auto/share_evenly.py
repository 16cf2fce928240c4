"""Outer loops of one iteration, or of few, give way to those inside, so that all workers have a share."""

from __future__ import annotations

from collections.abc import Iterator

from ragged.analysis.loop_bodies import loop_of
from ragged.auto.interchange_reductions import interchange_reduction, sum_side_by_side
from ragged.ir.expr import Const, Var
from ragged.ir.stmt import For, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import flat, mentions, statements
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fuse import fuse
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll_fully import unroll_fully
from ragged.transform.mapping.parallel import parallel
from ragged.transform.mapping.serial import serial

_COLUMNS = 64
"""Columns of a block: what workers read of a row are whole cache lines."""


def share_evenly(schedule: LoopSchedule, threads: int) -> None:
    """Leave out outermost parallel loops of one iteration, which one worker would run alone.

    before::

        for b in parallel(1):
            for c in parallel(32):
                y[b, c] = 2.0 * x[b, c]

    after::

        for c in parallel(32):
            y[0, c] = 2.0 * x[0, c]

    The loops directly inside become parallel; a loop with anything else in it stays, and so does what a primitive
    refuses. A loop of any number of iterations, as of a batch, and the loop of any number directly inside become one,
    unless it is innermost, or sums or loops of constant extents are inside. Columns that are summed side by side are
    shared in blocks, of which all are added row by row, and so are columns of which each row follows from the one
    before. Comes right before workers share loops.
    """
    if threads < 2:
        return
    for outer in _of_few(schedule):
        inner = outer.body
        assert isinstance(inner, For)
        with schedule.attempt(f"fuse {outer.var.name} and {inner.var.name}"):
            if not _is_parallel(inner):
                schedule.apply(parallel, inner.var)
            schedule.apply(fuse, outer.var, inner.var)
    done: set[Var] = set()
    while (loop := next((each for each in _single(schedule) if each.var not in done), None)) is not None:
        done.add(loop.var)
        with schedule.attempt():
            for inner in flat(loop.body):
                if isinstance(inner, For) and not _is_parallel(inner):
                    schedule.apply(parallel, inner.var)
            schedule.apply(unroll_fully, loop.var)
    for columns in _of_sums(schedule):
        with schedule.attempt(f"blocks of {columns.name}"):
            _, block = _blocks(schedule, columns)
            found = sum_side_by_side(loop_of(schedule.program, block))
            assert found is not None, "a part of what was one"
            interchange_reduction(schedule, found)
    for prefixes, columns in _of_prefixes(schedule):
        with schedule.attempt(f"blocks of {columns.name}"):
            blocks, block = _blocks(schedule, columns)
            schedule.apply(reorder, (blocks, prefixes, block))


def _blocks(schedule: LoopSchedule, columns: Var) -> tuple[Var, Var]:
    """Split columns into blocks for workers; return the loop over blocks, and the serial one in a block."""
    blocks, block = schedule.apply(split, columns, _COLUMNS, Tail.SHORT).loops[columns]
    schedule.apply(serial, block)
    return blocks, block


def _single(schedule: LoopSchedule) -> Iterator[For]:
    """Yield the outermost parallel loops of one iteration that have nothing but loops directly inside."""
    for part in flat(schedule.program.kernel):
        if (
            isinstance(part, For)
            and _is_parallel(part)
            and part.extent == Const(1)
            and all(isinstance(inner, For) for inner in flat(part.body))
        ):
            yield part


def _of_few(schedule: LoopSchedule) -> list[For]:
    """Return the outermost parallel loops of any number that have one loop directly inside, and no constant loop.

    Loops of constant extents are of panels that later rules fill.
    """
    return [
        part
        for part in flat(schedule.program.kernel)
        if isinstance(part, For)
        and _is_parallel(part)
        and isinstance(inner := part.body, For)
        and all(isinstance(each, For) for each in flat(inner.body))
        and not mentions(inner.extent, (part.var,))
        and not any(_is_of_panels_or_sums(stmt) for stmt in statements(part))
    ]


def _of_sums(schedule: LoopSchedule) -> list[Var]:
    """Return the outermost parallel loops over columns that are summed side by side."""
    return [
        part.var
        for part in flat(schedule.program.kernel)
        if isinstance(part, For) and _is_parallel(part) and sum_side_by_side(part) is not None
    ]


def _of_prefixes(schedule: LoopSchedule) -> list[tuple[Var, Var]]:
    """Return the outermost serial loops, as over prefixes, that have a store in a parallel loop over columns inside."""
    return [
        (part.var, columns.var)
        for part in flat(schedule.program.kernel)
        if isinstance(part, For)
        and part.kind is LoopKind.SERIAL
        and isinstance(columns := part.body, For)
        and _is_parallel(columns)
        and all(isinstance(each, Store) for each in flat(columns.body))
    ]


def _is_of_panels_or_sums(stmt: Stmt) -> bool:
    return isinstance(stmt, Reduce) or (isinstance(stmt, For) and isinstance(stmt.extent, Const))


def _is_parallel(stmt: object) -> bool:
    return isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL
