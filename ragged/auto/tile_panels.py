"""Register tiles for products of dense operands: columns by panels of packed vectors, of any number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod

from ragged.analysis.contractions import Contraction, contractions, extent_of
from ragged.analysis.dense_products import DenseProduct, dense_products
from ragged.arith.affine import growth
from ragged.auto.panel_copies import copy_border, copy_panels, pack_panels
from ragged.auto.planned_panels import PlannedPanels, blocks_of
from ragged.auto.rebase_batches import batches_of
from ragged.auto.register_tiles import tile_registers, tile_vectors
from ragged.auto.shapes import SizeSum
from ragged.auto.share_panels import share_panels
from ragged.auto.tile_few_columns import may_have_few_columns, tile_few_columns
from ragged.auto.tile_few_rows import (
    FEW_ROWS,
    has_few_rows,
    may_have_few_rows,
    product_of,
    reads_beyond_cache,
    split_off_few_rows,
)
from ragged.auto.tile_sizes import panel_vectors, rows_of_panel
from ragged.auto.transpose_operands import MOST_VERSIONS, transpose_operands
from ragged.ir.expr import Const, Expr, Select, Var
from ragged.ir.stmt import For, Label
from ragged.ir.walk import mentions
from ragged.machine import Machine
from ragged.passes.drop_unread import drop_unread
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split

_TILES_PER_PANEL = 8
"""Tiles of rows that read a panel where packing it costs no more than the strided rows of its operand cost them."""
_TILES_PER_BLOCK = 4
"""Tiles of rows that a worker runs at least of each panel."""
_ROWS_PER_BORDER = 16
"""Rows of an image that are padded at once, divided by the threads: a filter reads its rows of each of them again."""
_TILE_OF_FUNCTIONS = (2, 2)
"""Rows and vectors where a value has elementwise functions: these are many operations, and code for each element."""


def tile_panels(
    schedule: LoopSchedule, machine: Machine, tile: tuple[int, int] | None = None, threads: int = 1
) -> tuple[PlannedPanels, ...]:
    """Give each dense product that is left scalar register tiles, and pack the operand that has its columns.

    before::

        for i in parallel(M):
            for j in parallel(N):
                y[i, j] = 0.0
                for k in serial(K):
                    y[i, j] += x[i, k] * w[j, k]

    after, in outline::

        for p in parallel(panels):
            fill w_packed[k, column], the columns of the panel
            if the panel has 4 vectors:
                for rows in serial(M // 6):
                    y_acc = local(float32[6, 4, 16])
                    for k in serial(K): y_acc[r, v, lane] += x[rows * 6 + r, k] * w_packed[k, v * 16 + lane]
                    for r, v: for lane in vectorized(min(N - (p * 4 + v) * 16, 16)): y[...] = y_acc[r, v, lane]
                the rows that are left over, in tiles of 4 rows, 2 and one
            else the same for one vector after another, in tiles of 12 rows, 4, 2 and one

    The columns of temporaries, of inputs that others read too, or at another place, are copied panel by panel; where
    a filter's gradient reads an image, once for all places of the filter.
    Another operand that is read under a condition, as images of a convolution at their border, is padded once in each
    iteration of the first loop; where that may be too few for the `threads`, once for some rows of it and each panel.
    What follows the sum of an element in its loop, as an activation, is computed as the tile is stored. The last vector
    of a packed operand is filled up with zeros, so that sums are computed for whole vectors, and stored as far as there
    are columns. The order of each sum stays. Products that `tile_products` suits are left to it, unless many tiles of
    rows read a panel, and so are those in which a primitive refuses a step. Comes while loops are parallel. `tile` is
    the rows and vectors of a full tile, as many as fit by default. Returns what is planned for each.
    """
    planned = []
    # `tile_batches` tiles rows of batches, as their number changes within a call
    batches = bool(batches_of(schedule.program))
    products, found = list(dense_products(schedule.program)), list(contractions(schedule.program))
    # of rows that no loop of the product runs over, which `tile_batches` tiles
    one_row = {each.update for each in products if each.around and not each.rows}
    vectors = {
        each.update: each.vector
        for each in found
        if _fills_vectors(each, machine)
        or (each.vector is not None and (batches or (each.packed is not None and each.update in one_row)))
    }
    # of operands that nothing has packed, which `tile_products` reads where they are
    strided = {each.update for each in found if each.packed is None}
    labels = [
        each.update
        for each in products
        if each.update not in vectors
        or not (batches or vectors[each.update] is each.columns)
        or (each.update in strided and (_is_read_often(each, machine) or reads_beyond_cache(each, machine)))
    ]
    width = panel_vectors(machine, tile) * machine.lanes(4)
    few = [each for each in products if each.update in labels and may_have_few_rows(each)]
    split_few = sum(not has_few_rows(each) for each in few) <= MOST_VERSIONS
    for label, updates in transpose_operands(schedule, machine, labels, width, threads).items():
        versions = list[PlannedPanels]()
        for each in updates:
            with schedule.attempt():
                tail = Tail.PEEL if each is label else Tail.SHORT
                versions.append(
                    _tile(schedule, machine, each, tile, threads, tail, split_few=each is label and split_few)
                )
        if versions:
            planned.append(replace(versions[0], blocks=blocks_of(versions)))
    if planned:
        schedule.apply(drop_unread)
    return tuple(planned)


def _fills_vectors(contraction: Contraction, machine: Machine) -> bool:
    """Return whether `tile_products` suits a product: its columns fill vectors, or are no more than a panel's."""
    if contraction.vector is None:
        return False
    columns, lanes = extent_of(contraction.vector), machine.lanes(4)
    return columns % lanes == 0 or columns <= panel_vectors(machine) * lanes


def _is_read_often(product: DenseProduct, machine: Machine) -> bool:
    """Return whether so many tiles of rows read each panel that packing it costs less than reading it where it is.

    Rows of an operand that exceeds the second cache cost more, those in the first cache or of one panel cost nothing. A
    number of rows that a size says counts as many.
    """
    lanes, full = machine.lanes(product.operand.buffer.dtype.bytes), panel_vectors(machine)
    if product.around or (_vectors(product.columns, lanes) or full) <= full:
        return False
    read = [loop.extent for loop in (*product.axes, product.columns)]
    held = product.operand.buffer.dtype.bytes * prod(_known(read))
    if len(_known(read)) == len(read) and held <= machine.l1_bytes:
        return False
    rows = [loop.extent for loop in product.rows]
    enough = _TILES_PER_PANEL * rows_of_panel(machine, full) * machine.l2_bytes
    return len(_known(rows)) < len(rows) or prod(_known(rows)) * max(held, machine.l2_bytes) >= enough


def _known(extents: Sequence[Expr]) -> list[int]:
    return [int(each.value) for each in extents if isinstance(each, Const)]


def _tile(
    schedule: LoopSchedule,
    machine: Machine,
    update: Label,
    tile: tuple[int, int] | None,
    threads: int,
    tail: Tail = Tail.PEEL,
    *,
    split_few: bool = False,
) -> PlannedPanels:
    """Tile the product of an update, with `split_few` for few rows apart; return what is planned for it."""
    product = product_of(schedule, update)
    only, in_order = None, 0
    if split_few and may_have_few_rows(product):
        with schedule.attempt():
            split_off_few_rows(schedule, machine, product, threads)
            if has_few_rows(product):
                full = panel_vectors(machine, tile)
                planned = _planned(
                    product, (), tuple(loop.var for loop in product.rows), full, tile, per_call=False
                )
                return replace(planned, rows_in_order=FEW_ROWS)
            in_order = FEW_ROWS
        only, product = update, replace(product_of(schedule, update), is_packed=product.is_packed)
    if product.has_functions:
        tile = _TILE_OF_FUNCTIONS
    lanes = machine.lanes(product.operand.buffer.dtype.bytes)
    columns, along_rows = product.columns, may_have_few_columns(schedule.program, product)
    full = panel_vectors(machine, tile)
    most = min(full, _vectors(columns, lanes) or full)
    outer, middle, rows = _arrange(product, threads)
    fill: tuple[Var, ...] = ()
    blocks, tiled_rows, shared = list[Var](), rows, middle
    has_border = any(isinstance(each, Select) for each in product.others) and len(product.rows) > 1
    in_blocks = not outer and len(rows) == 1 and _leaves_idle(product, most * lanes, threads)
    if product.is_packed:
        vector, lane = schedule.apply(split, columns.var, lanes, Tail.SHORT).loops[columns.var]
        panel, vectors = schedule.apply(split, vector, most, Tail.SHORT).loops[vector]
        fill = pack_panels(schedule, product, lanes, most, only)
        if fill and in_blocks:
            blocks, tiled_rows = _blocks(schedule, rows[0], machine, tile)
        if has_border and len(middle) == 1 and threads < _ROWS_PER_BORDER:
            size = _ROWS_PER_BORDER // threads
            some, row = schedule.apply(split, middle[0], size, Tail.SHORT).loops[middle[0]]
            shared, tiled_rows = (some,), (row, *tiled_rows)
        schedule.apply(reorder, (*outer, panel, *shared, *blocks, *tiled_rows, vectors, lane))
        if has_border:
            copy_border(schedule, product, shared[0] if shared else product.rows[0].var)
    else:
        panel, column = schedule.apply(split, columns.var, lanes * most, Tail.SHORT).loops[columns.var]
        windows = tuple(loop.var for loop in product.batch if _moves_window(product, loop))
        outer = tuple(var for var in outer if var not in windows)
        blocks += windows[:1]
        if in_blocks:
            blocks, tiled_rows = _blocks(schedule, rows[0], machine, tile)
        schedule.apply(reorder, (*outer, panel, *(windows or blocks), *tiled_rows, column))
        copy_panels(schedule, product, panel)
        vectors, lane = schedule.apply(split, column, lanes, Tail.SHORT).loops[column]
    if not product.around and (product.batch or not outer or threads > 1):
        share_panels(
            schedule, fill if product.batch or not outer else (), (*outer, panel), (*shared, *blocks)
        )

    def rows_of(count: int) -> int:
        found = rows_of_panel(machine, count, tile)
        return min(found, _TILE_OF_FUNCTIONS[0]) if product.has_functions else found

    if most < full:  # of a number of columns
        schedule.apply(reorder, (vectors, *tiled_rows, lane))
        tile_registers(schedule, tiled_rows, (lane,), rows_of(1), machine.accumulators, tail)
    else:
        few = partial(tile_few_columns, schedule, machine, tiled_rows, lane) if along_rows else None
        tile_vectors(
            schedule, tiled_rows, vectors, lane, most, rows_of, machine.accumulators, tail, before_one=few
        )
    per_call = bool(fill) or not product.is_packed
    planned = _planned(product, (*outer, *middle), rows, full, tile, per_call=per_call)
    return replace(planned, blocks=tuple(blocks), rows_in_order=in_order)


def _blocks(
    schedule: LoopSchedule, rows: Var, machine: Machine, tile: tuple[int, int] | None
) -> tuple[list[Var], tuple[Var, ...]]:
    """Split the rows of a product into blocks, which workers share; return the loops over these and over their rows."""
    size = _TILES_PER_BLOCK * rows_of_panel(machine, 1, tile)
    *blocks, tiled = schedule.apply(split, rows, size, Tail.SHORT).loops[rows]
    return blocks, (tiled,)


def _planned(
    product: DenseProduct,
    outer: tuple[Var, ...],
    rows: tuple[Var, ...],
    vectors: int,
    tile: tuple[int, int] | None,
    *,
    per_call: bool,
) -> PlannedPanels:
    """Return the plan of a product in panels of so many vectors; `per_call`: each call packs its operand."""
    name, extents = product.columns.var.name, {each.var: each.extent for each in product.rows}
    tiled = list(rows[-1:])
    while tiled and len(tiled) < len(rows) and isinstance(extents[tiled[0]], Const):
        tiled.insert(0, rows[-len(tiled) - 1])
    repeated = [each.extent for each in product.around]
    repeated += [extents[var] for var in (*outer, *rows) if var in extents and var not in tiled]
    return PlannedPanels(
        name,
        tuple(SizeSum.of(loop.extent) for loop in product.batch),
        tuple(map(SizeSum.of, repeated)),
        tuple(SizeSum.of(extents[var]) for var in tiled),
        tuple(SizeSum.of(loop.extent) for loop in product.axes),
        SizeSum.of(product.columns.extent),
        vectors,
        per_call,
        tile,
    )


def _moves_window(product: DenseProduct, loop: For) -> bool:
    """Return whether a loop moves what the sum reads of the operand: as `p` in `x[n, c, h + p]`, summed over `h`."""
    axes = [axis.var for axis in product.axes]
    return any(
        (growth(index, loop.var) or 0) > 0 and mentions(index, axes) for index in product.operand.indices
    )


def _leaves_idle(product: DenseProduct, panel: int, threads: int) -> bool:
    """Return whether workers that share the panels of a product may have unequal shares, or none."""
    extent = product.columns.extent
    panels = -(-int(extent.value) // panel) if isinstance(extent, Const) else None
    return threads > 1 and not product.around and panels != 1 and (panels or 1) % threads != 0


def _arrange(product: DenseProduct, threads: int) -> tuple[tuple[Var, ...], tuple[Var, ...], tuple[Var, ...]]:
    """Return the loops outside of the panels, those that workers share with them, and those over the rows to tile."""
    batch, rows = [loop.var for loop in product.batch], [loop.var for loop in product.rows]
    if product.batch or product.around or len(rows) < 2 or not product.is_packed:
        return tuple(batch), (), tuple(rows)
    first, last = product.rows[0].extent, product.rows[-1].extent
    few = first.value < threads if isinstance(first, Const) else not isinstance(last, Const)
    shared = len(rows) - 1 if threads > 1 and few else 1
    return (rows[0],), tuple(rows[1:shared]), tuple(rows[shared:])


def _vectors(columns: For, lanes: int) -> int | None:
    """Return the vectors that a number of columns fills, None if a size says how many."""
    extent = columns.extent
    return max(1, -(-int(extent.value) // lanes)) if isinstance(extent, Const) else None
