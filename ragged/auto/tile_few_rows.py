"""Products of few rows with an input: rows of the input are read in order, where they stand."""

from __future__ import annotations

from math import prod

from ragged.analysis.dense_products import DenseProduct, dense_products
from ragged.analysis.loop_bodies import loop_of
from ragged.analysis.site_of import site_of
from ragged.auto.fission_nest import fission_nest
from ragged.auto.register_tiles import hold_in_local
from ragged.auto.share_panels import share_panels
from ragged.errors import ScheduleError
from ragged.ir.expr import Call, Const, Expr, Role, Var
from ragged.ir.index import contents
from ragged.ir.stmt import Label, LoopKind
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll
from ragged.transform.loops.version_loop import version_loop
from ragged.transform.mapping.serial import serial
from ragged.transform.mapping.vectorize import vectorize

FEW_ROWS = 4
"""Rows of a tile, and the most rows: with more the input is read again, and packing it costs no more."""
_STEPS = 4
"""Steps of the sum for each vector of a tile, which is loaded and stored once for them."""
_COLUMNS = 512
"""Columns of a block, or half of them where workers share these: what a step of the sum reads in order."""


def may_have_few_rows(product: DenseProduct) -> bool:
    """Return whether a product may have no more rows than a tile, and reads rows of its operand in order."""
    operand, columns = product.operand.buffer, product.columns.extent
    extents = [loop.extent for loop in product.rows]
    return (
        product.is_plain
        and operand.role is not Role.PARAMETER
        and operand.order[-1] == product.dimension
        and not (product.around or product.has_functions)
        and len(product.axes) == 1
        and len(extents) <= 1
        and all(isinstance(each, Call) or _is_few(each) for each in extents)
        and not (isinstance(columns, Const) and int(columns.value) <= _COLUMNS // 4)
    )


def has_few_rows(product: DenseProduct) -> bool:
    """Return whether a product of `may_have_few_rows` has few rows in all calls."""
    return all(_is_few(loop.extent) for loop in product.rows)


def reads_beyond_cache(product: DenseProduct, machine: Machine) -> bool:
    """Return whether a product of few rows reads an operand of known extents that the second cache does not hold."""
    extents = [loop.extent for loop in (*product.axes, product.columns)]
    held = product.operand.buffer.dtype.bytes * prod(int(e.value) for e in extents if isinstance(e, Const))
    known = all(isinstance(each, Const) for each in extents)
    return known and held > machine.l2_bytes and may_have_few_rows(product) and has_few_rows(product)


def _is_few(extent: Expr) -> bool:
    return isinstance(extent, Const) and int(extent.value) <= FEW_ROWS


def product_of(schedule: LoopSchedule, update: Label) -> DenseProduct:
    """Return the product of an update."""
    for each in dense_products(schedule.program):
        if each.update is update:
            return each
    raise ScheduleError("tile_panels: the product is no dense product after others were tiled")


def split_off_few_rows(schedule: LoopSchedule, machine: Machine, product: DenseProduct, threads: int) -> None:
    """Tile a product of `may_have_few_rows` for few rows; where others may come, a copy of it that calls choose."""
    update = product.update
    if not has_few_rows(product):
        site = site_of(schedule.program, update)
        assert site is not None, "it is there"
        limits = product.rows[0].extent, Const(FEW_ROWS)
        update = schedule.apply(version_loop, site.loops[0].var, *limits).labels[update][-1]
    tile_few_rows(schedule, machine, product_of(schedule, update), threads)


def tile_few_rows(schedule: LoopSchedule, machine: Machine, product: DenseProduct, threads: int) -> None:
    """Sum up blocks of columns of few rows, some steps of all sums after others.

    before::

        for i in parallel(M):
            for j in parallel(N):
                y[i, j] = 0.0
                for k in serial(K):
                    y[i, j] += x[i, k] * w[k, j]

    after, in outline::

        for b in parallel((N + 511) // 512):
            for rows in serial((M + 3) // 4):
                y_acc = local(float32[4, 512])
                fill y_acc with zeros
                for s in serial(K // 4):
                    for r in serial(min(M - rows * 4, 4)):
                        for v in serial(min(N - b * 512, 512) // 16):
                            for k in unrolled(4):
                                for lane in vectorized(16):
                                    y_acc[r, v * 16 + lane] += x[rows * 4 + r, s * 4 + k] * w[s * 4 + k, column]
                        the columns that are left over, in a vector of which the last lanes are masked
                the steps that are left over
                store y_acc

    Tiles of registers read a few vectors of each row of `w`, a pattern that the processor does not foresee, and panels
    that are packed are written and read once more. The order of each sum stays.
    """
    lanes, columns = machine.lanes(product.operand.buffer.dtype.bytes), product.columns.var
    batch, rows = ([loop.var for loop in loops] for loops in (product.batch, product.rows))
    size = _COLUMNS if threads == 1 else _COLUMNS // 2
    block, column = schedule.apply(split, columns, size, Tail.SHORT).loops[columns]
    schedule.apply(reorder, (*batch, block, *rows, column))
    for var in (*rows, column):
        if loop_of(schedule.program, var).kind is LoopKind.PARALLEL:
            schedule.apply(serial, var)
    share_panels(schedule, (), (*batch, block))
    tile = [schedule.apply(split, var, FEW_ROWS, Tail.SHORT).loops[var][1] for var in rows]
    held = hold_in_local(schedule, (*tile, column))
    started, summed = fission_nest(schedule, held.computed, held.init)
    (axis,) = held.axes
    steps, step, *left = schedule.apply(split, axis, _STEPS, Tail.PEEL).loops[axis]
    for rest in left:
        summed, last = fission_nest(schedule, summed, steps)
        schedule.apply(reorder, (rest, *last))
        _vectorize(schedule, last[-1], lanes)
    _vectorize(schedule, started[-1], lanes)
    _vectorize(schedule, held.stored[-1], lanes)
    schedule.apply(reorder, (steps, *summed, step))
    whole = schedule.apply(split, summed[-1], lanes, Tail.PEEL).loops[summed[-1]]
    nests = [(step, whole[1])]
    for rest in whole[2:]:
        (copy,) = contents(loop_of(schedule.program, rest).body).loops
        nests.append((copy, schedule.apply(split, rest, lanes, Tail.SHORT).loops[rest][1]))
    for each, lane in nests:
        schedule.apply(reorder, (each, lane))
        schedule.apply(unroll, each)
        schedule.apply(vectorize, lane)


def _vectorize(schedule: LoopSchedule, columns: Var, lanes: int) -> None:
    schedule.apply(vectorize, schedule.apply(split, columns, lanes, Tail.SHORT).loops[columns][1])
