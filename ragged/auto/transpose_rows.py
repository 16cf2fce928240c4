"""Rows that are stored as columns: read as they stand, and transposed in registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragged.analysis.loop_bodies import lets_of, loop_of
from ragged.analysis.strides import is_consecutive
from ragged.analysis.transposed_tiles import SIDES
from ragged.arith.affine import growth
from ragged.arith.fold import floordiv, times
from ragged.ir.dtype import DType
from ragged.ir.expr import Const, Expr, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import substitute_lets
from ragged.ir.sites import sites
from ragged.ir.stmt import For, Label, LoopKind, Store
from ragged.ir.walk import loads, mentions
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fission import fission
from ragged.transform.loops.partition_loop import partition_loop
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll
from ragged.transform.mapping.vectorize import vectorize
from ragged.transform.storage.cache_write import cache_write
from ragged.transform.storage.set_order import set_order


def transpose_rows(schedule: LoopSchedule, machine: Machine) -> None:
    """Compute what is stored across the rows that it is made of by squares, each transposed in registers.

    before::

        for d in serial(64):
            for i in serial(16):
                y[d, i] = x[row(i), d] * 0.125

    after::

        for d_o in serial(4):
            y_acc = local(float32[16, 16], order=(1, 0))
            for i in unrolled(16):
                for d in vectorized(16):
                    y_acc[d, i] = x[row(i), d_o * 16 + d] * 0.125
            for d_w in serial(16):
                for i_w in vectorized(16):
                    y[d_o * 16 + d_w, i_w] = y_acc[d_w, i_w]

    The last nest is what `transposed_tile` finds. More columns than squares of half of the first cache have are stored
    strip by strip: a row of the next strip is elsewhere in memory, and looking its page up costs more than a square.
    Rows that are left over, if their number is known, have tiles of 8 rows and of 4; what is left of these, and columns
    that fill no square, have nests as they were. What a primitive refuses is left as it is. Comes
    before `vectorize_columns`, which leaves such loops alone: what they read is not side by side.
    """
    if machine.lanes(4) not in SIDES:
        return
    sides = [side for side in reversed(SIDES) if side <= machine.lanes(4)]
    for place in range(len(sides)):  # the largest tiles, then lower ones of rows that are left over
        for outer, inner, store in list(_turned(schedule.program, sides, place)):
            with schedule.attempt():
                _transpose(schedule, machine, sides[place], sides, outer, inner, store)


def _transpose(
    schedule: LoopSchedule,
    machine: Machine,
    height: int,
    sides: Sequence[int],
    outer: Var,
    inner: Var,
    store: Label,
) -> None:
    extent = loop_of(schedule.program, inner).extent
    side = _side(extent, sides)
    assert side is not None, "there are so many columns"
    if not isinstance(extent, Const) or extent.value % side:
        squares = times(floordiv(extent, side), Const(side))
        whole = schedule.apply(partition_loop, inner, squares).loops[inner][0]
        outer = schedule.apply(fission, outer, whole).loops[outer][0]
        inner = whole
    far, row = schedule.apply(split, outer, height, Tail.PEEL).loops[outer][:2]
    blocks, column = schedule.apply(split, inner, side).loops[inner][:2]
    strips, rows = [], _rows_of_strip(machine, side)
    if not isinstance(extent, Const) or extent.value > rows:
        *strips, blocks = schedule.apply(split, blocks, rows // side, Tail.SHORT).loops[blocks]
    schedule.apply(reorder, (*strips, far, blocks, row, column))
    stored = schedule.apply(cache_write, store, blocks)
    written = stored.loops[column][-1]
    held = loop_of(schedule.program, column).body
    assert isinstance(held, Store)
    schedule.apply(set_order, held.buffer, (1, 0))
    schedule.apply(reorder, (column, row))
    schedule.apply(unroll, column)
    schedule.apply(vectorize, row)
    schedule.apply(vectorize, written)


def _rows_of_strip(machine: Machine, side: int) -> int:
    """Return how many rows, of which a square has its part, fill half of the first cache."""
    return machine.l1_bytes // 2 // (4 * side) // side * side


def _turned(program: Program, sides: Sequence[int], place: int) -> Iterator[tuple[Var, Var, Label]]:
    """Yield two loops around a store of what is side by side along the inner one, and read so along the outer one.

    The outer one has at least the rows of the side at `place`; rows or columns that a call counts, at the first alone.
    """
    counted = place == 0
    for site in sites(program):
        if site.stage.kind is StageKind.KERNEL and isinstance(outer := site.stmt, For):
            inner = turned_loop(outer)
            if inner is None or not (
                counted or all(isinstance(each.extent, Const) for each in (outer, inner))
            ):
                continue
            if _side(outer.extent, sides[: place + 1]) and _side(inner.extent, sides):
                assert isinstance(inner.body, Store)
                yield outer.var, inner.var, inner.body.label


def turned_loop(outer: For) -> For | None:
    """Return a loop in `outer` that stores numbers side by side, which are read side by side along `outer`; or None."""
    lets, body = lets_of(outer.body)
    match body:
        case For(kind=LoopKind.SERIAL, body=Store() as store) if outer.kind is LoopKind.SERIAL:
            indices = tuple(substitute_lets(index, lets) for index in store.indices)
            own = replace(store, indices=indices, value=substitute_lets(store.value, lets))
            is_found = store.buffer.dtype is DType.FLOAT32 and _is_turned(own, outer.var, body.var)
            return body if is_found else None
        case _:
            return None


def _side(extent: Expr, sides: Sequence[int]) -> int | None:
    """Return the largest of sides that so many rows or columns fill, or may fill; None if they are too few."""
    if not isinstance(extent, Const):
        return sides[0]
    return next((side for side in sides if side <= int(extent.value)), None)


def _is_turned(store: Store, outer: Var, inner: Var) -> bool:
    read = [*loads(store.value)]
    along = all(
        is_consecutive(load.buffer, load.indices, outer) or not mentions(load, (outer,)) for load in read
    )
    across = any(
        mentions(load, (inner,)) and is_consecutive(load.buffer, load.indices, outer) for load in read
    )
    apart = all(growth(index, outer) is not None for index in store.indices)
    return along and across and apart and is_consecutive(store.buffer, store.indices, inner)
