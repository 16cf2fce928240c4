"""Register tiles for products in vectors along elements that are contiguous in the result: no operand is packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragged.analysis.contractions import contractions
from ragged.analysis.dense_products import ReductionNest, dense_products, lane_loops, sums_of_products
from ragged.analysis.loop_bodies import loop_of
from ragged.arith.affine import growth
from ragged.auto.register_tiles import tile_registers, tile_vectors
from ragged.auto.share_panels import share_panels
from ragged.auto.tile_sizes import panel_vectors, rows_of_panel
from ragged.ir.expr import Const, Expr, Load, Var
from ragged.ir.stmt import For
from ragged.ir.walk import mentions
from ragged.machine import Machine
from ragged.passes.drop_unread import drop_unread
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split

_PAGE_BYTES = 4096
"""Bytes of a row that lie in one page of memory: prefetchers go no further."""


@dataclass(frozen=True, slots=True)
class LaneProduct:
    """A sum of products with `lanes`, a loop along contiguous elements of the result and of one factor or both.

    A tile has several iterations of `rows`, which one factor does not depend on, and of `columns`, which the other one
    does not depend on; None if that is the same for all lanes. `outer` are the other loops, outermost first.
    """

    outer: tuple[For, ...]
    rows: For
    columns: For | None
    lanes: For
    is_alone: bool


def tile_lanes(schedule: LoopSchedule, machine: Machine, threads: int = 1) -> None:
    """Give products in which packed columns would fill fewer lanes register tiles along contiguous elements.

    before::

        for n in parallel(N):
            for a in serial(A):
                for b in serial(B):
                    for h in serial(H):
                        y[n, a, b, h] = 0.0
                        for k in serial(K):
                            y[n, a, b, h] += x[n, a, k, h] * w[n, k, b, h]

    after, in outline::

        for n, page, b in parallel(N * pages * ((B + 3) // 4)):
            for block in serial(blocks of a page):
                if b has 4 columns:
                    for a in serial(A // 6):
                        y_acc = local(float32[6, 4, 16])
                        for k in serial(K): y_acc[r, c, lane] += x[n, a * 6 + r, k, ...] * w[n, k, b * 4 + c, ...]
                        for r, c: for lane in vectorized(min(H - block * 16, 16)): y[...] = y_acc[r, c, lane]
                    the rows that are left over, in smaller tiles
                else the same for one column after another

    A worker reads a page of each row of the columns from its first to its last element, as prefetchers expect it. Where
    one factor is the same for all lanes, as the filters of a grouped convolution along the width of images, a tile has
    several vectors in place of columns. Vectors that the elements do not fill are read by masked loads. The order of
    each sum stays. Comes before `tile_panels`, which takes what is left.
    """
    products = _products(schedule, machine)
    for product in products:
        with schedule.attempt():
            _tile(schedule, machine, product, threads)
    if products:
        schedule.apply(drop_unread)


def _products(schedule: LoopSchedule, machine: Machine) -> list[LaneProduct]:
    """Return the products that fill more lanes along contiguous elements than in packed columns."""
    packed = {each.update: each.columns for each in dense_products(schedule.program)}
    vectors = {each.update for each in contractions(schedule.program) if each.vector is not None}
    found = []
    for each in sums_of_products(schedule.program):
        if each.update.label in vectors and not each.is_dense:
            continue  # `tile_products` suits it, with rows that `tile_batches` tiles
        product = lane_product(each)
        columns = packed.get(each.update.label)
        if product is None or (columns is not None and columns.var is product.lanes.var):
            continue
        if columns is None or product.columns is not None:
            use = 0.5  # columns are not contiguous in memory
        else:
            use = _use(columns, machine)
        if _use(product.lanes, machine) > use:
            found.append(product)
    return found


def _use(loop: For, machine: Machine) -> float:
    """Return the part of the lanes that a loop fills; 1 if its extent is not a number."""
    if not isinstance(loop.extent, Const):
        return 1.0
    extent, lanes = int(loop.extent.value), machine.lanes(4)
    return extent / (-(-extent // lanes) * lanes) if extent > 0 else 1.0


def lane_product(found: ReductionNest) -> LaneProduct | None:
    """Return a sum as a product along contiguous elements; None if it has another form."""
    lanes = next(lane_loops(found.result, found.outputs), None)
    last = found.result.buffer.order[-1]
    if lanes is None or not mentions(found.result.indices[last], (lanes.var,)):
        return None
    factors = found.factors or ()
    along = [_along(each, lanes.var) for each in factors]
    if None in along or not any(along):
        return None
    moving = [each for each, moves in zip(factors, along, strict=True) if moves]
    loops = [loop for loop in found.outputs if loop is not lanes]
    rows = [loop for loop in loops if not mentions(moving[0], (loop.var,))]
    columns = [loop for loop in loops if loop not in rows and not mentions(moving[-1], (loop.var,))]
    if not rows or (len(moving) == 2 and not columns):
        return None
    tiled = (rows[-1], columns[-1] if len(moving) == 2 else None)
    outer = tuple(loop for loop in loops if loop not in tiled)
    return LaneProduct(outer, *tiled, lanes, not found.around)


def _along(factor: Expr, lanes: Var) -> bool | None:
    """Return whether a factor's elements are contiguous along a loop, not all the same; None if they are neither."""
    if not mentions(factor, (lanes,)):
        return False
    if not isinstance(factor, Load):
        return None
    last = factor.buffer.order[-1]
    others = any(mentions(each, (lanes,)) for d, each in enumerate(factor.indices) if d != last)
    return True if not others and growth(factor.indices[last], lanes) == 1 else None


def _tile(schedule: LoopSchedule, machine: Machine, product: LaneProduct, threads: int) -> None:
    lanes, most = machine.lanes(4), panel_vectors(machine)
    outer, row = [loop.var for loop in product.outer], product.rows.var
    block, lane = schedule.apply(split, product.lanes.var, lanes, Tail.SHORT).loops[product.lanes.var]
    if product.columns is not None:
        vectors_per_page, column = _PAGE_BYTES // machine.vector_bytes, product.columns.var
        page, block = schedule.apply(split, block, vectors_per_page, Tail.SHORT).loops[block]
        columns, column = schedule.apply(split, column, most, Tail.SHORT).loops[column]
        schedule.apply(reorder, (*outer, page, columns, block, row, column, lane))
        _share(schedule, (*outer, page, columns), threads, product)
        tile_vectors(
            schedule,
            (row,),
            column,
            lane,
            most,
            lambda count: _rows(product, machine, count),
            machine.accumulators,
        )
        return
    vectors = loop_of(schedule.program, block).extent
    if isinstance(vectors, Const) and vectors.value <= most:
        schedule.apply(reorder, (*outer, row, block, lane))
        _share(schedule, outer, threads, product)
        tile_registers(
            schedule, (row,), (block, lane), _rows(product, machine, int(vectors.value)), machine.accumulators
        )
        return
    panel, vector = schedule.apply(split, block, most, Tail.SHORT).loops[block]
    schedule.apply(reorder, (*outer, panel, row, vector, lane))
    _share(schedule, (*outer, panel), threads, product)
    tile_vectors(
        schedule,
        (row,),
        vector,
        lane,
        most,
        lambda count: _rows(product, machine, count),
        machine.accumulators,
    )


def _rows(product: LaneProduct, machine: Machine, vectors: int) -> int:
    """Return the rows of a tile of so many vectors: no more than there are."""
    most, extent = rows_of_panel(machine, vectors), product.rows.extent
    return min(most, int(extent.value)) if isinstance(extent, Const) else most


def _share(schedule: LoopSchedule, nest: Sequence[Var], threads: int, product: LaneProduct) -> None:
    """Share the iterations of a nest between workers, if it stands alone."""
    if product.is_alone and threads > 1 and nest:
        share_panels(schedule, (), nest)
