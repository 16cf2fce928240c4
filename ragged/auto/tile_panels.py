"""Register tiles for products of dense operands: columns by panels of packed vectors, of any number."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.analysis.contractions import Contraction, contractions, extent_of
from ragged.analysis.dense_products import DenseProduct, dense_products
from ragged.analysis.loop_bodies import loop_of, parts_of
from ragged.arith.affine import at_most
from ragged.auto.fission_nest import fission_nest
from ragged.auto.planned_panels import PlannedPanels
from ragged.auto.rebase_batches import batches_of
from ragged.auto.shapes import SizeSum
from ragged.auto.share_panels import share_panels
from ragged.auto.tile_sizes import panel_vectors, rows_of_panel
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Const, Select, Var
from ragged.ir.program import StageKind
from ragged.ir.sites import sites
from ragged.ir.stmt import Alloc, For, Label, Reduce, Store
from ragged.ir.walk import statements
from ragged.machine import Machine
from ragged.passes.drop_unread import drop_unread
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fuse import fuse
from ragged.transform.loops.pad_loop import pad_loop
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.specialize import specialize
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll
from ragged.transform.mapping.vectorize import vectorize
from ragged.transform.storage.cache_padded import cache_padded
from ragged.transform.storage.cache_write import cache_write
from ragged.transform.storage.expand_storage import expand_storage
from ragged.transform.storage.pack import pack


def tile_panels(
    schedule: LoopSchedule, machine: Machine, tile: tuple[int, int] | None = None
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
                the rows that are left over, in tiles of 3 rows and of one
            and the same for 1, 2 and 3 vectors

    An operand that is read under a condition, as images of a convolution at their border, is padded once in each
    iteration of the first loop. What follows the sum of an element in its loop, as an activation, is computed as the
    tile is stored. The last vector of a packed operand is filled up with zeros, so that sums are computed for whole
    vectors, and stored as far as there are columns. The order of each sum stays. Products that `tile_products` suits
    are left to it, and so are those in which a primitive refuses a step. Comes while loops are parallel. `tile` is the
    rows and vectors of a full tile, as many as fit by default. Returns what is planned for each.
    """
    planned = []
    batches = bool(
        batches_of(schedule.program)
    )  # `tile_batches` tiles rows of batches, as their number changes within a call
    tiled = {
        each.update
        for each in contractions(schedule.program)
        if (batches and each.vector is not None) or _fills_vectors(each, machine)
    }
    for label in [each.update for each in dense_products(schedule.program) if each.update not in tiled]:
        before = schedule.checkpoint()
        try:
            planned.append(_tile(schedule, machine, label, tile))
        except ScheduleError:
            schedule.restore(before)
    if planned:
        schedule.apply(drop_unread)
    return tuple(planned)


def _fills_vectors(contraction: Contraction, machine: Machine) -> bool:
    """Return whether `tile_products` suits a product: its columns fill vectors, or are no more than a panel's."""
    if contraction.vector is None:
        return False
    columns, lanes = extent_of(contraction.vector), machine.lanes(4)
    return columns % lanes == 0 or columns <= panel_vectors(machine) * lanes


def _tile(
    schedule: LoopSchedule, machine: Machine, update: Label, tile: tuple[int, int] | None
) -> PlannedPanels:
    """Tile the product of an update; return what is planned for it."""
    product = _product(schedule, update)
    if isinstance(product.other, Select) and len(product.rows) > 1:
        product = _without_condition(schedule, product)
    lanes = machine.lanes(product.operand.buffer.dtype.bytes)
    columns = product.columns
    counts = _vector_counts(columns, lanes, panel_vectors(machine, tile))
    most = counts[0]
    vector, lane = schedule.apply(split, columns.var, lanes, Tail.SHORT).loops[columns.var]
    panel, vectors = schedule.apply(split, vector, most, Tail.SHORT).loops[vector]
    fill = _pack(schedule, product, lanes, most)
    outer, rows = _arrange(product)
    schedule.apply(reorder, (*outer, panel, *rows, vectors, lane))
    shared = product.batch or not (outer or product.around)
    if shared:
        share_panels(schedule, fill, (*outer, panel))
    nests = [(counts[0], (*rows, vectors, lane))]
    if len(counts) > 1:
        schedule.apply(reorder, (vectors, lane, *rows))
        done = schedule.apply(specialize, vectors, counts)
        copies = zip(*(done.loops[var][-len(counts) :] for var in (*rows, vectors, lane)), strict=True)
        nests = list(zip(counts, copies, strict=True))
    for count, nest in nests:
        *own, vectors, lane = nest
        if len(counts) > 1 and own:
            schedule.apply(reorder, (*own, vectors, lane))
        most_rows = rows_of_panel(machine, count, tile)
        _tile_rows(schedule, _one_loop(schedule, own), vectors, lane, most_rows)
    return _planned(product, most, tile, per_call=bool(fill))


def _product(schedule: LoopSchedule, update: Label) -> DenseProduct:
    """Return the product of an update."""
    for each in dense_products(schedule.program):
        if each.update is update:
            return each
    raise ScheduleError("tile_panels: the product is no dense product after others were tiled")


def _without_condition(schedule: LoopSchedule, product: DenseProduct) -> DenseProduct:
    """Pad what a product reads under a condition, once in each iteration of its first loop; return the product."""
    before = schedule.checkpoint()
    try:
        schedule.apply(cache_padded, product.update, product.rows[0].var)
    except ScheduleError:  # each step asks for the condition
        schedule.restore(before)
        return product
    return _product(schedule, product.update)


def _planned(
    product: DenseProduct, vectors: int, tile: tuple[int, int] | None, *, per_call: bool
) -> PlannedPanels:
    """Return the plan of a product with panels of so many vectors; `per_call`: each call packs its operand."""
    outer, rows = _arrange(product)
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


def _arrange(product: DenseProduct) -> tuple[tuple[Var, ...], tuple[Var, ...]]:
    """Return the loops outside of the panels, and the loops over the rows of a panel."""
    batch, rows = [loop.var for loop in product.batch], [loop.var for loop in product.rows]
    if product.batch or product.around or len(rows) < 2:
        return tuple(batch), tuple(rows)
    return (rows[0],), tuple(rows[1:])


def _pack(schedule: LoopSchedule, product: DenseProduct, lanes: int, vectors: int) -> tuple[Var, ...]:
    """Pack the operand with the columns by panels; return the loops that fill an input's table, outermost first."""
    buffer = product.operand.buffer
    name = schedule.program.free_name(f"{buffer.name}_packed")
    schedule.apply(pack, buffer, name, ((product.dimension, lanes * vectors),), product.panel_order)
    filled = next(
        site
        for site in sites(schedule.program)
        if isinstance(site.stmt, Store) and site.stmt.buffer.name == name
    )
    if filled.stage.kind is StageKind.BIND:
        return ()
    return tuple(loop.var for loop in filled.loops)


def _vector_counts(columns: For, lanes: int, most: int) -> tuple[int, ...]:
    """Return how many vectors a panel may have, the most frequent number first."""
    if not isinstance(columns.extent, Const):
        return (most, *range(1, most))
    vectors = max(1, -(-int(columns.extent.value) // lanes))
    counts = (most if vectors >= most else 0, vectors % most)
    return tuple(count for count in counts if count)


def _one_loop(schedule: LoopSchedule, rows: Sequence[Var]) -> Var | None:
    """Fuse the innermost loops over rows; return the loop to tile, None if there is none.

    A loop of unknown extent stays inside: dividing by it for each row and step would take longer than the remainder.
    """
    if not rows:
        return None
    *others, fused = rows
    for row in reversed(others):
        if not isinstance(loop_of(schedule.program, fused).extent, Const):
            break
        fused = schedule.apply(fuse, row, fused).loops[fused][0]
    return fused


def _tile_rows(schedule: LoopSchedule, rows: Var | None, vectors: Var, lane: Var, most: int) -> None:
    """Tile a nest over rows, a constant number of vectors and their lanes; the remainder of rows in smaller tiles."""
    count = most
    while rows is not None and count > 1:
        _, row, *rest = schedule.apply(split, rows, count, Tail.PEEL).loops[rows]
        tail = tuple(_inside(schedule, rest[0])) if rest else ()
        _hold_in_registers(schedule, (row, vectors, lane))
        if not rest:
            return
        rows, vectors, lane = rest[0], *tail
        count //= 2
    _hold_in_registers(schedule, (vectors, lane))


def _inside(schedule: LoopSchedule, rows: Var) -> list[Var]:
    """Return the loops over vectors and lanes directly inside a loop over rows."""
    inner = [stmt.var for stmt in statements(loop_of(schedule.program, rows).body) if isinstance(stmt, For)]
    return inner[:2]


def _hold_in_registers(schedule: LoopSchedule, tile: tuple[Var, ...]) -> None:
    """Sum up all elements of a tile in registers, one step of the reduction at a time, and store them then."""
    init, axes, update = _sum_in(loop_of(schedule.program, tile[-1]))
    lanes = at_most(loop_of(schedule.program, tile[-1]).extent, {})
    assert lanes is not None, "a loop over lanes is short"
    schedule.apply(cache_write, update, tile[-1])
    for var in reversed(tile):
        schedule.apply(expand_storage, _allocated_in(schedule, var), var)
    computed, stored = fission_nest(schedule, tile, axes[0])
    schedule.apply(pad_loop, computed[-1], lanes)
    started, summed = fission_nest(schedule, computed, init)
    schedule.apply(reorder, (*axes, *summed))
    for *around, lane in (started, summed, stored):
        for var in around:
            schedule.apply(unroll, var)
        schedule.apply(vectorize, lane)


def _sum_in(loop: For) -> tuple[Label, list[Var], Label]:
    """Return the initializing store in a loop, the loops of the reduction after it, and its update."""
    init, nest, *_ = parts_of(loop)
    assert isinstance(init, Store)
    axes: list[Var] = []
    while isinstance(nest, For):
        axes.append(nest.var)
        nest = nest.body
    assert isinstance(nest, Reduce)
    return init.label, axes, nest.label


def _allocated_in(schedule: LoopSchedule, loop: Var) -> Buffer:
    """Return the first buffer that is allocated in a loop."""
    inside = statements(loop_of(schedule.program, loop).body)
    return next(stmt.buffer for stmt in inside if isinstance(stmt, Alloc))
