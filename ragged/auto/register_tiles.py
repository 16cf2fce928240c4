"""Register tiles of a nest with a reduction: sums of several rows and vectors at once, and the rows left over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from ragged.analysis.loop_bodies import lets_of, loop_of, name_of, parts_of
from ragged.analysis.site_of import site_of
from ragged.analysis.transposed_tiles import transposed_tile
from ragged.arith.index_intervals import at_most
from ragged.auto.fission_nest import fission_nest
from ragged.auto.tile_sizes import fills_tiles, rows_of_loop, rows_of_remainder
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Const, Var
from ragged.ir.index import contents
from ragged.ir.stmt import Alloc, For, Label, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import loads, statements
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fuse import fuse
from ragged.transform.loops.pad_loop import pad_loop
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.specialize import specialize
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll
from ragged.transform.mapping.serial import serial
from ragged.transform.mapping.vectorize import vectorize
from ragged.transform.storage.cache_write import cache_write
from ragged.transform.storage.expand_storage import expand_storage
from ragged.transform.storage.set_order import set_order


def tile_registers(
    schedule: LoopSchedule,
    nest: Sequence[Var],
    inside: Sequence[Var],
    most: int,
    accumulators: int,
    tail: Tail = Tail.PEEL,
) -> None:
    """Tile a nest over rows and the loops `inside`, of constant extents, and sum up each tile in registers.

    `nest` are the loops over rows, outermost first, the last of which the tiles divide; a tile has up to `most` rows,
    of a known number of rows those that are fastest where `accumulators` sums hide the latency of multiply-adds.
    Those that are left over are in smaller tiles, or, with `Tail.SHORT`, in one of which all is summed and part is
    stored.
    """
    extents = [loop_of(schedule.program, var).extent for var in inside[:-1]]
    vectors = prod(int(each.value) for each in extents if isinstance(each, Const))
    rows, count, inside = _one_loop(schedule, nest, most, vectors, accumulators), most, tuple(inside)
    extent = None if rows is None or tail is not Tail.PEEL else loop_of(schedule.program, rows).extent
    if isinstance(extent, Const):
        count = rows_of_loop(int(extent.value), most, vectors, accumulators)
    while rows is not None and count > 1:
        _, row, *rest = schedule.apply(split, rows, count, tail).loops[rows]
        left = contents(loop_of(schedule.program, rest[0]).body).loops[: len(inside)] if rest else ()
        hold_in_registers(schedule, (row, *inside))
        if not rest:
            return
        rows, inside = rest[0], left
        count = rows_of_remainder(count)
    hold_in_registers(schedule, inside)


def tile_vectors(
    schedule: LoopSchedule,
    rows: Sequence[Var],
    vectors: Var,
    lane: Var,
    most: int,
    rows_of: Callable[[int], int],
    accumulators: int,
    tail: Tail = Tail.PEEL,
    before_one: Callable[[], None] | None = None,
) -> None:
    """Tile a nest over rows and up to `most` vectors: all of them at once, fewer of them one after another.

    `rows_of` gives the rows of a tile of so many vectors, `tail` is as in `tile_registers`. `before_one` is called
    where only the tiles of one vector are missing.
    """
    singly = (vectors, *rows, lane)
    if isinstance(loop_of(schedule.program, vectors).extent, Const):
        tile_registers(schedule, rows, (vectors, lane), rows_of(most), accumulators, tail)
        return
    schedule.apply(reorder, singly)
    done = schedule.apply(specialize, vectors, (most,))
    v, *own, x = (done.loops[var][-1] for var in singly)
    schedule.apply(reorder, (*own, v, x))
    tile_registers(schedule, own, (v, x), rows_of(most), accumulators, tail)
    if len(done.loops[vectors]) > 1:
        if before_one is not None:
            before_one()
        tile_registers(schedule, rows, (lane,), rows_of(1), accumulators, tail)


def _one_loop(
    schedule: LoopSchedule, rows: Sequence[Var], most: int, vectors: int, accumulators: int
) -> Var | None:
    """Fuse the innermost loops over rows; return the loop to tile, None if there is none.

    A loop of unknown extent stays inside: dividing by it for each row and step would take longer than the remainder.
    So does one in a parallel loop, and one that fills tiles of up to `most` rows.
    """
    if not rows:
        return None
    *others, fused = rows
    for row in reversed(others):
        inner = loop_of(schedule.program, fused)
        if not isinstance(inner.extent, Const) or fills_tiles(
            int(inner.extent.value), most, vectors, accumulators
        ):
            break
        if loop_of(schedule.program, row).kind is not inner.kind:
            break
        fused = schedule.apply(fuse, row, fused).loops[fused][0]
    return fused


@dataclass(frozen=True, slots=True)
class HeldTile:
    """A tile that is summed in a local buffer: the loops that sum it, from `init` over `axes`, and that store it."""

    computed: list[Var]
    stored: list[Var]
    init: Label
    axes: list[Var]


def hold_in_local(schedule: LoopSchedule, tile: Sequence[Var]) -> HeldTile:
    """Sum up all elements of a tile in a local buffer, and store it then."""
    init, axes, update = _sum_in(loop_of(schedule.program, tile[-1]))
    schedule.apply(cache_write, update, tile[-1])
    for var in reversed(tile):
        schedule.apply(expand_storage, _allocated_in(schedule, var), var)
    return HeldTile(*fission_nest(schedule, tile, axes[0]), init, axes)


def hold_in_registers(schedule: LoopSchedule, tile: Sequence[Var]) -> None:
    """Sum up all elements of a tile in registers, one step of the reduction at a time; store those that there are."""
    lanes = at_most(loop_of(schedule.program, tile[-1]).extent, {})
    assert lanes is not None, "a loop over lanes is short"
    held = hold_in_local(schedule, tile)
    computed, stored = held.computed, held.stored
    for place, (whole, part) in enumerate(zip(computed[:-1], stored[:-1], strict=True)):
        extent = loop_of(schedule.program, part).extent
        if not isinstance(extent, Const):
            rows = at_most(extent, {})
            assert rows is not None, "a tile has a number of rows"
            schedule.apply(pad_loop, whole, rows)
            stored[place] = schedule.apply(split, part, rows, Tail.GUARD).loops[part][1]
    schedule.apply(pad_loop, computed[-1], lanes)
    started, summed = fission_nest(schedule, computed, held.init)
    schedule.apply(reorder, (*held.axes, *summed))
    for nest in _stores(schedule, stored):
        if not _store_columns(schedule, nest):
            _vectorize(schedule, nest)
    _vectorize(schedule, started)
    _vectorize(schedule, summed)


def _vectorize(schedule: LoopSchedule, tile: Sequence[Var]) -> None:
    *around, lane = tile
    for var in around:
        schedule.apply(unroll, var)
    schedule.apply(vectorize, lane)


def _stores(schedule: LoopSchedule, stored: Sequence[Var]) -> list[Sequence[Var]]:
    """Give each statement that stores a tile a nest of its own; return them."""
    nests = [stored]
    for part in parts_of(loop_of(schedule.program, stored[-1]))[:-1]:
        with schedule.attempt():
            nests[-1:] = fission_nest(schedule, nests[-1], name_of(part))
    return nests


def _store_columns(schedule: LoopSchedule, stored: Sequence[Var]) -> bool:
    """Store a tile by the columns of its rows where these are side by side in what it is stored to; else return False.

    The last nest is what `transposed_tile` finds: rows are transposed in registers. What is computed as the tile is
    stored, as the sum of it and something, is computed in registers before.
    """
    first, last = (loop_of(schedule.program, stored[place]) for place in (0, -1))
    store = last.body
    if not isinstance(store, Store):
        return False
    held = next(iter(loads(store.value)), None)
    body: Stmt = store if held is None else replace(store, value=held)
    for let in reversed(lets_of(first.body)[0]):
        body = replace(let, body=body)
    across = replace(first, kind=LoopKind.VECTORIZED, body=body)
    if transposed_tile(replace(last, body=across)) is None:
        return False
    before = schedule.checkpoint()
    try:
        if store.value is not held:
            stored = _compute_before(schedule, store.label, stored)
        row, *between, lane = stored
        schedule.apply(reorder, (*between, lane, row))
        _vectorize(schedule, (*between, row))
    except ScheduleError:  # what is stored is not all of a tile
        schedule.restore(before)
        return False
    return True


def _compute_before(schedule: LoopSchedule, store: Label, tile: Sequence[Var]) -> tuple[Var, ...]:
    """Compute what a tile stores in registers first; return the loops that store it."""
    site = site_of(schedule.program, tile[0])
    assert site is not None, "it is there"
    for var in tile:
        if loop_of(schedule.program, var).kind is LoopKind.PARALLEL:
            schedule.apply(serial, var)
    done = schedule.apply(cache_write, store, site.loops[-1].var)
    held = loop_of(schedule.program, tile[-1]).body
    assert isinstance(held, Store)
    schedule.apply(set_order, held.buffer, (1, 0))
    _vectorize(schedule, tile)
    return tuple(done.loops[var][-1] for var in tile)


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
