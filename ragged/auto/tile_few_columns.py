"""Register tiles for columns that fill few lanes of a vector, along rows that are contiguous in the result."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.analysis.dense_products import DenseProduct, sums_of_products
from ragged.analysis.loop_bodies import loop_of
from ragged.arith.fold import floordiv, plus, times
from ragged.auto.register_tiles import tile_vectors
from ragged.auto.tile_lanes import lane_product
from ragged.ir.expr import Const, Var
from ragged.ir.index import contents
from ragged.ir.program import Program
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.version_loop import version_loop

_VECTORS = 2
"""Vectors of a tile: they and as many rows as hide the latency of multiply-adds are fewer loads than those."""


def may_have_few_columns(program: Program, product: DenseProduct) -> bool:
    """Return whether calls may have few columns, and rows that `tile_few_columns` tiles, as images of few channels."""
    if isinstance(product.columns.extent, Const) or not product.rows:
        return False
    along = [lane_product(each) for each in sums_of_products(program) if each.update.label is product.update]
    return any(each is not None and each.columns is None and each.lanes is product.rows[-1] for each in along)


def tile_few_columns(schedule: LoopSchedule, machine: Machine, rows: Sequence[Var], columns: Var) -> None:
    """Tile along rows where the last of `rows` fill more of their vectors than a vector of columns, in its loops.

    before::

        for n in serial(N):
            for h in serial(H):
                for w in serial(W):
                    for f in serial(min(F - v * 16, 16)):
                        the sum of y[n, f, h, w]

    after::

        if min(F - v * 16, 16) * ((W + 15) // 16) + 1 <= W:
            for n in serial(N):
                for h in serial(H):
                    the sums of all f and w: two vectors of w and four f at once, then one vector and eight f
        else:
            the loops as they were

    The columns that fill no tile are zeros, as packed; they are summed and not stored.
    """
    lanes = machine.lanes(4)
    width, few = (loop_of(schedule.program, var).extent for var in (rows[-1], columns))
    vectors = floordiv(plus(width, Const(lanes - 1)), lanes)
    _, copy = schedule.apply(version_loop, rows[0], plus(times(few, vectors), Const(1)), width).loops[rows[0]]
    *outer, row, column = contents(loop_of(schedule.program, copy)).loops[: len(rows) + 1]
    block, lane = schedule.apply(split, row, lanes, Tail.SHORT).loops[row]
    pair, vector = schedule.apply(split, block, _VECTORS, Tail.SHORT).loops[block]
    schedule.apply(reorder, (*outer, pair, column, vector, lane))
    tile_vectors(
        schedule,
        (column,),
        vector,
        lane,
        _VECTORS,
        lambda count: machine.accumulators // count,
        machine.accumulators,
        Tail.SHORT,
    )
