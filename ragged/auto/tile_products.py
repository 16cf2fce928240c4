"""Register tiles for contractions: the default schedule of a matrix times a vector, or times a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragged.analysis.contractions import Contraction, contraction_of, contractions, extent_of
from ragged.analysis.loop_bodies import loop_of
from ragged.auto.fission_nest import fission_nest
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.auto.tensorize_products import columns_for_matrix_unit, tensorize_rows
from ragged.auto.tile_sizes import (
    dividing_rows,
    lanes_of,
    loop_over_gates,
    narrowed,
    num_vectors,
    rows_of_packing,
    rows_of_tile,
    vectors_at_once,
)
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Const, Var
from ragged.ir.program import StageKind
from ragged.ir.rewrite import Forwarding
from ragged.ir.stmt import Label
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
class Packing:
    """A parameter to be packed: the dimension that becomes contiguous, and the width of its blocks in elements."""

    buffer: Buffer
    dimension: int
    width: int


def tile_products(schedule: LoopSchedule, machine: Machine, options: ScheduleOptions = DEFAULT) -> None:
    """Give each contraction of the kernel a register tile, and pack the parameters that they read.

    Columns are computed `machine.lanes` at a time, several vectors at once, with accumulators in registers; rows of the
    other operand that share the columns, some at a time (`ScheduleOptions.tile`). The order of each sum stays. A
    contraction that a primitive refuses to tile stays as it is.
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
    packings: dict[Buffer, set[tuple[int, int]]] = {}
    on_unit: list[Label] = []
    for label in updates:
        contraction = contraction_of(schedule.program, label, stage) if options.on_unit(machine) else None
        if contraction is not None and (width := columns_for_matrix_unit(schedule, contraction)):
            on_unit.append(label)
            if contraction.packed is not None:
                packings.setdefault(contraction.packed[0], set()).add((contraction.packed[1], width))
            continue
        for packing in _tile(schedule, machine, options, label, stage):
            packings.setdefault(packing.buffer, set()).add((packing.dimension, packing.width))
    for buffer, layouts in packings.items():
        _pack(schedule, buffer, layouts, stage)
    for label in on_unit:
        try:
            tensorize_rows(schedule, label)
        except ScheduleError:  # a table that is read in two layouts is not packed
            list(_tile(schedule, machine, options, label, stage))


def _tile(
    schedule: LoopSchedule, machine: Machine, options: ScheduleOptions, update: Label, stage: StageKind
) -> Iterator[Packing]:
    """Tile one contraction, and the remainder of its columns as contractions of their own."""
    pending = [update]
    while pending:
        label = pending.pop()
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
            pending.extend(reversed(pieces))
            continue
        try:
            width, rest = _tile_once(schedule, machine, options, contraction)
        except ScheduleError:
            schedule.restore(before)
            continue
        pending.extend(rest)
        if contraction.packed is not None and width:
            yield Packing(contraction.packed[0], contraction.packed[1], width)


def _tile_once(
    schedule: LoopSchedule, machine: Machine, options: ScheduleOptions, contraction: Contraction
) -> tuple[int, tuple[Label, ...]]:
    """Tile the columns of a contraction; return the width of a block and the updates in the remainder, if any."""
    loop = contraction.vector if contraction.vector is not None else contraction.outputs[-1]
    extent = extent_of(loop)
    lanes = lanes_of(machine, extent) if contraction.vector is not None else 1
    _, most_vectors = options.tile_on(machine)
    pieces = num_vectors(extent, lanes)
    rows = dividing_rows(contraction, rows_of_tile(contraction, machine, options))
    packed_rows = rows_of_packing(contraction, rows, machine, options)
    most = most_vectors if packed_rows > 1 else options.row_vectors
    held = pieces <= options.row_vectors and packed_rows * pieces + pieces < machine.vector_registers
    fits = contraction.vector is not None and held
    width = extent if fits else lanes * vectors_at_once(extent // lanes, most)
    if width < 2:
        return 0, ()
    parts = schedule.apply(split, loop.var, width, Tail.PEEL)
    outer, inner = parts.loops[loop.var][:2]
    rest = tuple(label for label in parts.labels[contraction.update] if label is not contraction.update)
    if rest:  # each part of the columns becomes a separate nest
        at = outer
        for output in reversed(contraction.outputs[: contraction.outputs.index(loop)]):
            at = schedule.apply(fission, output.var, at).loops[output.var][0]
    outside, around = [each.var for each in contraction.outputs if each is not loop], [inner]
    if rows > 1 and contraction.rows is not None:
        blocks, row = schedule.apply(split, contraction.rows.var, rows).loops[contraction.rows.var]
        outside = [*(var for var in outside if var is not contraction.rows.var), blocks]
        around = [row, inner]
    vectors = num_vectors(width, lanes)
    gates = loop_over_gates(contraction, loop, rows * vectors, machine) if vectors < most_vectors else None
    if gates is not None:
        outside.remove(gates.var)
        around.insert(0, gates.var)
    if len(around) > 1 or loop is not contraction.outputs[-1]:
        schedule.apply(reorder, (*outside, outer, *around))
    kept = schedule.apply(cache_write, contraction.update, outer)
    written = [kept.loops[var][-1] for var in around]
    started, summed = fission_nest(schedule, around, contraction.init)
    schedule.apply(reorder, (contraction.axis.var, *summed))
    unrolled = _split_reduction(schedule, contraction, options)
    for nest in (started, summed, written):
        _vectorize_nest(schedule, nest, lanes)
    if unrolled is not None:
        schedule.apply(unroll, unrolled)
    return width, rest


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


def _pack(schedule: LoopSchedule, buffer: Buffer, layouts: set[tuple[int, int]], stage: StageKind) -> None:
    """Pack a parameter so that the elements of a vector are contiguous."""
    if len({dimension for dimension, _ in layouts}) > 1:
        return
    dimension, width = next(iter(layouts))
    extent = buffer.shape[dimension]
    name, last = schedule.program.free_name(f"{buffer.name}_packed"), len(buffer.shape)
    tiles: tuple[tuple[int, int], ...] = ()
    order = (*(place for place in range(last) if place != dimension), dimension)
    if len(layouts) == 1 and isinstance(extent, Const) and extent.value % width == 0:
        tiles = ((dimension, width),)
        order = (*range(dimension + 1), *range(dimension + 2, last + 1), dimension + 1)
    if stage is StageKind.BIND:
        schedule.apply(pack, buffer, schedule.program.free_name(f"{name}_first"), tiles, order, first=True)
    else:
        schedule.apply(pack, buffer, name, tiles, order)
