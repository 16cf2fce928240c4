"""Register tiles for contractions: the default schedule of a matrix times a vector, or times a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragged.analysis.contractions import Contraction, contraction_of, contractions, extent_of
from ragged.analysis.loop_bodies import loop_of
from ragged.auto.fission_nest import fission_nest
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.auto.register_tiles import hold_in_registers
from ragged.auto.tensorize_products import columns_for_matrix_unit, tensorize_rows
from ragged.auto.tile_sizes import (
    dividing_rows,
    loop_over_gates,
    narrowed,
    rows_of_packing,
    rows_of_tile,
    vector_of,
    vectors_at_once,
    vectors_of,
)
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Const, Var
from ragged.ir.program import StageKind
from ragged.ir.rewrite import Forwarding
from ragged.ir.stmt import For, Label
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fission import fission
from ragged.transform.loops.partition_loop import partition_loop
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll
from ragged.transform.mapping.vectorize import vectorize
from ragged.transform.storage.cache_write import cache_write
from ragged.transform.storage.pack import pack


@dataclass(frozen=True, slots=True)
class _Tile:
    """A register tile of `rows` and of `vectors` of `lanes` columns, of a contraction that `update` has become.

    `columns` was the loop over all columns; `blocks` are the loops that it has become, over tiles and in one. There are
    none yet if the last vector has fewer columns. A parameter is packed by `block` columns.
    """

    contraction: Contraction
    update: Label
    columns: For
    blocks: tuple[Var, Var] | None
    rows: int
    vectors: int
    lanes: int
    block: int

    def packs(self, buffer: Buffer) -> bool:
        """Return whether a parameter is packed for the tile."""
        return self.contraction.packed is not None and self.contraction.packed[0] is buffer


def tile_products(schedule: LoopSchedule, machine: Machine, options: ScheduleOptions = DEFAULT) -> None:
    """Give each contraction of the kernel a register tile, and pack the parameters that they read.

    Columns are computed `machine.lanes` at a time, several vectors at once, with accumulators in registers; rows of the
    other operand that share the columns, some at a time (`ScheduleOptions.tile`). Sums of a last vector that columns do
    not fill are computed for all of its lanes, of columns that are zero there, and stored as far as there are columns.
    The order of each sum stays. A contraction that a primitive refuses to tile stays as it is.
    """
    updates = [contraction.update for contraction in contractions(schedule.program)]
    tile_sums(schedule, machine, options, updates, StageKind.KERNEL)


def tile_sums(
    schedule: LoopSchedule,
    machine: Machine,
    options: ScheduleOptions,
    updates: Iterable[Label],
    stage: StageKind,
) -> None:
    """Tile the contractions of a stage with these updates, and pack the parameters that the stage reads."""
    start = schedule.checkpoint()
    packings: dict[Buffer, set[tuple[int, int]]] = {}
    on_unit: list[Label] = []
    tiles: list[_Tile] = []
    updates = list(updates)
    for label in updates:
        contraction = contraction_of(schedule.program, label, stage) if options.on_unit(machine) else None
        if contraction is not None and (width := columns_for_matrix_unit(schedule, contraction)):
            on_unit.append(label)
            if contraction.packed is not None:
                packings.setdefault(contraction.packed[0], set()).add((contraction.packed[1], width))
            continue
        for tile in _split_columns(schedule, machine, options, label, stage):
            tiles.append(tile)
            if tile.contraction.packed is not None:
                buffer, dimension = tile.contraction.packed
                packings.setdefault(buffer, set()).add((dimension, tile.block))
    short = [tile for tile in tiles if tile.blocks is None]
    for buffer, layouts in packings.items():
        lanes = max((each.lanes for each in short if each.packs(buffer)), default=1)
        _pack(schedule, buffer, layouts, lanes, stage)
    for label in on_unit:
        try:
            tensorize_rows(schedule, label)
        except ScheduleError:  # a table that is read in two layouts is not packed
            tiles += _split_columns(schedule, machine, options, label, stage)
    for tile in tiles:
        try:
            _compute(schedule, machine, options, tile)
        except ScheduleError:
            schedule.restore(start)
            tile_sums(
                schedule, machine, options, [each for each in updates if each is not tile.update], stage
            )
            return


def _split_columns(
    schedule: LoopSchedule, machine: Machine, options: ScheduleOptions, update: Label, stage: StageKind
) -> Iterator[_Tile]:
    """Split the columns of a contraction into those of tiles; what is left over of rows and columns has its own."""
    pending: list[tuple[Label, int | None]] = [(update, None)]
    while pending:
        label, block = pending.pop()
        contraction = contraction_of(schedule.program, label, stage)
        if contraction is None:
            continue
        before = schedule.checkpoint()
        try:
            pieces = _partition_remainder(schedule, contraction, rows_of_tile(contraction, machine, options))
        except ScheduleError:
            schedule.restore(before)
            pieces = ()
        if pieces:
            pending.extend((piece, block) for piece in reversed(pieces))
            continue
        try:
            tile, rest = _split_once(schedule, machine, options, contraction, update, block)
        except ScheduleError:
            schedule.restore(before)
            continue
        if tile is not None:
            pending.extend((piece, tile.block) for piece in rest)
            yield tile


def _split_once(
    schedule: LoopSchedule,
    machine: Machine,
    options: ScheduleOptions,
    contraction: Contraction,
    update: Label,
    block: int | None,
) -> tuple[_Tile | None, tuple[Label, ...]]:
    """Split the columns of a contraction; return its tile, and the updates in the remainder, if any.

    `block` is how many columns a parameter is packed by, if that is decided.
    """
    loop = contraction.vector if contraction.vector is not None else contraction.outputs[-1]
    extent = extent_of(loop)
    lanes, short = vector_of(contraction, machine)
    pieces = vectors_of(contraction, machine)
    _, most_vectors = options.tile_on(machine, pieces)
    rows = dividing_rows(contraction, rows_of_tile(contraction, machine, options))
    packed_rows = rows_of_packing(contraction, rows, machine, options)
    most = most_vectors if packed_rows > 1 else options.row_vectors
    held = pieces <= options.row_vectors and packed_rows * pieces + pieces < machine.vector_registers
    fits = contraction.vector is not None and held
    vectors = pieces if fits else vectors_at_once(pieces if short else extent // lanes, most)
    few = pieces <= options.row_vectors
    # A split by all vectors of columns that fill none would leave all of them over.
    if short and pieces % vectors == 0 and (few or vectors == pieces):
        return _Tile(contraction, update, loop, None, rows, vectors, lanes, block or extent), ()
    width = extent if fits else lanes * vectors
    if width < 2:
        return None, ()
    parts = schedule.apply(split, loop.var, width, Tail.PEEL)
    outer, inner = parts.loops[loop.var][:2]
    rest = tuple(label for label in parts.labels[contraction.update] if label is not contraction.update)
    if rest:  # each part of the columns becomes a separate nest
        at = outer
        for output in reversed(contraction.outputs[: contraction.outputs.index(loop)]):
            at = schedule.apply(fission, output.var, at).loops[output.var][0]
    own = extent if (short and few) or (extent % width and _is_slice(contraction, extent)) else width
    return _Tile(contraction, update, loop, (outer, inner), rows, vectors, lanes, block or own), rest


def _is_slice(contraction: Contraction, extent: int) -> bool:
    """Return whether so many columns are some of a packed parameter's: slices begin where blocks of it do."""
    packed = contraction.packed
    return packed is not None and packed[0].shape[packed[1]] != Const(extent)


def _compute(schedule: LoopSchedule, machine: Machine, options: ScheduleOptions, tile: _Tile) -> None:
    """Sum up a tile of a contraction in registers."""
    contraction, rows, vectors = tile.contraction, tile.rows, tile.vectors
    outside = [each.var for each in contraction.outputs if each is not tile.columns]
    if tile.blocks is not None:
        outer, *around = tile.blocks
    else:
        columns = tile.columns.var
        vector, lane = schedule.apply(split, columns, tile.lanes, Tail.SHORT).loops[columns]
        outer, inner = schedule.apply(split, vector, vectors).loops[vector]
        around = [inner, lane]
    if rows > 1 and contraction.rows is not None:
        blocks, row = schedule.apply(split, contraction.rows.var, rows).loops[contraction.rows.var]
        outside = [*(var for var in outside if var is not contraction.rows.var), blocks]
        around.insert(0, row)
    few = vectors < options.tile_on(machine, vectors)[1]
    gates = loop_over_gates(contraction, tile.columns, rows * vectors, machine) if few else None
    if gates is not None:
        outside.remove(gates.var)
        around.insert(0, gates.var)
    if len(around) > 1 or tile.columns is not contraction.outputs[-1]:
        schedule.apply(reorder, (*outside, outer, *around))
    if tile.blocks is None:
        hold_in_registers(schedule, around)
        unrolled = _split_reduction(schedule, contraction, options)
    else:
        kept = schedule.apply(cache_write, contraction.update, outer)
        written = [kept.loops[var][-1] for var in around]
        started, summed = fission_nest(schedule, around, contraction.init)
        schedule.apply(reorder, (contraction.axis.var, *summed))
        unrolled = _split_reduction(schedule, contraction, options)
        for nest in (started, summed, written):
            _vectorize_nest(schedule, nest, tile.lanes)
    if unrolled is not None:
        schedule.apply(unroll, unrolled)


def partition_rows(schedule: LoopSchedule, rows: Var, tile_rows: int) -> Forwarding | None:
    """Partition a loop over rows where the last full tile ends; return the forwarding, None if all tiles are full."""
    extent = extent_of(loop_of(schedule.program, rows))
    if extent % tile_rows == 0:
        return None
    return schedule.apply(partition_loop, rows, Const(extent // tile_rows * tile_rows))


def _split_reduction(
    schedule: LoopSchedule, contraction: Contraction, options: ScheduleOptions
) -> Var | None:
    """Split the reduction loop for unrolling; return the inner loop, None if it would have one iteration."""
    axis = contraction.axis
    if not isinstance(axis.extent, Const):
        return None
    length = int(axis.extent.value)
    most = options.scalar_reduction_unroll if contraction.vector is None else options.unroll_for(length)
    steps = next(count for count in range(most, 0, -1) if length % count == 0)
    return None if steps == 1 else schedule.apply(split, axis.var, steps, Tail.PEEL).loops[axis.var][1]


def _partition_remainder(
    schedule: LoopSchedule, contraction: Contraction, tile_rows: int
) -> tuple[Label, ...]:
    """Move rows that fill no tile to a separate nest; return the updates of both nests, none if all tiles are full."""
    rows = contraction.rows
    parts = None if rows is None or tile_rows == 1 else partition_rows(schedule, rows.var, tile_rows)
    if rows is None or parts is None:
        return ()
    at = parts.loops[rows.var][0]
    for output in reversed(contraction.outputs[: contraction.outputs.index(rows)]):
        at = schedule.apply(fission, output.var, at).loops[output.var][0]
    return parts.labels[contraction.update]


def _vectorize_nest(schedule: LoopSchedule, nest: list[Var], lanes: int) -> None:
    """Unroll the loops of a nest, and vectorize the innermost one: its remainder with narrower vectors."""
    *rows, columns = nest
    for row in rows:
        schedule.apply(unroll, row)
    while lanes > 1:
        vectors, lane, *tail = schedule.apply(split, columns, lanes, Tail.PEEL).loops[columns]
        schedule.apply(unroll, vectors)
        schedule.apply(vectorize, lane)
        if not tail:
            return
        columns = tail[0]
        lanes = narrowed(lanes, extent_of(loop_of(schedule.program, columns)))
    schedule.apply(unroll, columns)


def _pack(
    schedule: LoopSchedule, buffer: Buffer, layouts: set[tuple[int, int]], lanes: int, stage: StageKind
) -> None:
    """Pack a parameter so that the elements of a vector are contiguous, and zero behind the last column of a block."""
    if len({dimension for dimension, _ in layouts}) > 1:
        return
    dimension, width = next(iter(layouts))
    name, last = schedule.program.free_name(f"{buffer.name}_packed"), len(buffer.shape)
    tiles: tuple[tuple[int, int], ...] = ()
    order = (*(place for place in range(last) if place != dimension), dimension)
    extent = buffer.shape[dimension]
    if len(layouts) == 1 and isinstance(extent, Const):
        tiles = ((dimension, width),)
        order = (*range(dimension + 1), *range(dimension + 2, last + 1), dimension + 1)
    first = stage is StageKind.BIND
    name = schedule.program.free_name(f"{name}_first") if first else name
    schedule.apply(pack, buffer, name, tiles, order, first=first, multiple=lanes if tiles else 1)
