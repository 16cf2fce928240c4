"""Register tiles for sums of products: the default schedule of a matrix times a vector, or times a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragged.analysis.contractions import Contraction, contractions
from ragged.analysis.loop_bodies import loop_of
from ragged.auto.options import DEFAULT, ENOUGH_SUMS, ScheduleOptions
from ragged.auto.tensorize_products import columns_for_matrix_unit, tensorize_rows
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

_SEVERAL = 4
"""From so many full tiles on, these and a smaller one for the rest take less long than tiles of fewer rows."""


@dataclass(frozen=True, slots=True)
class Packing:
    """A parameter to be packed, with the dimension that is read side by side and the width of its blocks."""

    buffer: Buffer
    dimension: int
    width: int


def tile_products(schedule: LoopSchedule, machine: Machine, options: ScheduleOptions = DEFAULT) -> None:
    """Give each sum of products of the kernel a register tile, and pack the parameters that they read.

    The columns of a product are computed `machine.lanes` at a time, several vectors at once, with the sums held in
    registers; where the other operand has rows that share the columns, some of them together (`ScheduleOptions.tile`).
    The order of each sum stays. What a primitive refuses is left as it is.
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
    """Do so for the products of a stage with these updates, and pack what that stage reads."""
    packings: dict[Buffer, set[tuple[int, int]]] = {}
    on_unit: list[Label] = []
    for label in updates:
        contraction = _contraction(schedule, label, stage) if options.on_unit(machine) else None
        if contraction is not None and (width := columns_for_matrix_unit(schedule, contraction)):
            on_unit.append(label)
            if contraction.packed is not None:
                packings.setdefault(contraction.packed[0], set()).add((contraction.packed[1], width))
            continue
        for packing in _tile(schedule, machine, options, label, stage):
            packings.setdefault(packing.buffer, set()).add((packing.dimension, packing.width))
    for buffer, ways in packings.items():
        _pack(schedule, buffer, ways, stage)
    for label in on_unit:
        try:
            tensorize_rows(schedule, label)
        except ScheduleError:  # a table that others read another way is not packed
            list(_tile(schedule, machine, options, label, stage))


def _contraction(schedule: LoopSchedule, update: Label, stage: StageKind) -> Contraction | None:
    return next(
        (
            contraction
            for contraction in contractions(schedule.program, stage)
            if contraction.update is update
        ),
        None,
    )


def _tile(
    schedule: LoopSchedule, machine: Machine, options: ScheduleOptions, update: Label, stage: StageKind
) -> Iterator[Packing]:
    """Tile one product, and what its width leaves over as products of their own."""
    pending = [update]
    while pending:
        label = pending.pop()
        contraction = _contraction(schedule, label, stage)
        if contraction is None:
            continue
        before = schedule.checkpoint()
        try:
            pieces = _cut(schedule, contraction, rows_of_tile(contraction, machine, options))
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
    """Tile the columns of a product; return the width of a block and the updates in the tail, if there is one."""
    loop = contraction.vector if contraction.vector is not None else contraction.outputs[-1]
    extent = _extent(loop)
    lanes = _lanes(machine, extent) if contraction.vector is not None else 1
    _, most_vectors = options.tile_on(machine)
    pieces = _pieces(extent, lanes)
    rows = _dividing(contraction, rows_of_tile(contraction, machine, options))
    like = _rows_that_share_a_packing(contraction, rows, machine, options)
    most = most_vectors if like > 1 else options.row_vectors
    held = pieces <= options.row_vectors and like * pieces + pieces < machine.vector_registers
    fits = contraction.vector is not None and held
    width = extent if fits else lanes * _vectors(extent // lanes, most)
    if width < 2:
        return 0, ()
    parts = schedule.apply(split, loop.var, width, Tail.PEEL)
    outer, inner = parts.loops[loop.var][:2]
    rest = tuple(label for label in parts.labels[contraction.update] if label is not contraction.update)
    if rest:  # so that each part of the columns is in a nest of its own
        at = outer
        for output in reversed(contraction.outputs[: contraction.outputs.index(loop)]):
            at = schedule.apply(fission, output.var, at).loops[output.var][0]
    outside, around = [each.var for each in contraction.outputs if each is not loop], [inner]
    if rows > 1 and contraction.rows is not None:
        blocks, row = schedule.apply(split, contraction.rows.var, rows).loops[contraction.rows.var]
        outside = [*(var for var in outside if var is not contraction.rows.var), blocks]
        around = [row, inner]
    vectors = _pieces(width, lanes)
    alike = _alike(contraction, loop, rows * vectors, machine) if vectors < most_vectors else None
    if alike is not None:
        outside.remove(alike.var)
        around.insert(0, alike.var)
    if len(around) > 1 or loop is not contraction.outputs[-1]:
        schedule.apply(reorder, (*outside, outer, *around))
    kept = schedule.apply(cache_write, contraction.update, outer)
    written = [kept.loops[var][-1] for var in around]
    started, summed = _separate(schedule, around, contraction.init)
    schedule.apply(reorder, (contraction.axis.var, *summed))
    turn = _turn(schedule, contraction, options)
    for nest in (started, summed, written):
        _lay_out(schedule, nest, lanes)
    if turn is not None:
        schedule.apply(unroll, turn)
    return width, rest


def rows_of_tile(contraction: Contraction, machine: Machine, options: ScheduleOptions) -> int:
    """Return how many rows of a product a tile has: more where its columns are few.

    Where there are rows for several tiles, some may be left over; of few rows a tile has as many as divide them.
    """
    if contraction.vector is None or contraction.rows is None or contraction.rows is contraction.vector:
        return 1
    most_rows, most_vectors = options.tile_on(machine)
    most = most_rows * max(1, most_vectors // vectors_of(contraction, machine))
    return most if _extent(contraction.rows) >= _SEVERAL * most else _dividing(contraction, most)


def partition_rows(schedule: LoopSchedule, rows: Var, together: int) -> Forwarding | None:
    """Cut a loop over rows where the last full tile ends; return what became of it, None if all tiles are full."""
    extent = _extent(loop_of(schedule.program, rows))
    if extent % together == 0:
        return None
    return schedule.apply(partition_loop, rows, Const(extent // together * together))


def vectors_of(contraction: Contraction, machine: Machine) -> int:
    """Return in how many vectors a product's columns are held; they are numbers where it has none side by side."""
    loop = contraction.vector if contraction.vector is not None else contraction.outputs[-1]
    extent = _extent(loop)
    return _pieces(extent, _lanes(machine, extent) if contraction.vector is not None else 1)


def _turn(schedule: LoopSchedule, contraction: Contraction, options: ScheduleOptions) -> Var | None:
    """Split the loop over what is summed into turns; return the loop over the steps of one, if it has several."""
    axis = contraction.axis
    if not isinstance(axis.extent, Const):
        return None
    length = int(axis.extent.value)
    most = options.scalar_reduction_unroll if contraction.vector is None else options.unroll_for(length)
    steps = next(count for count in range(most, 0, -1) if length % count == 0)
    return None if steps == 1 else schedule.apply(split, axis.var, steps, Tail.PEEL).loops[axis.var][1]


def _cut(schedule: LoopSchedule, contraction: Contraction, together: int) -> tuple[Label, ...]:
    """Give rows that fill no tile a nest of their own; return the updates of both nests, or none if all rows do."""
    rows = contraction.rows
    parts = None if rows is None or together == 1 else partition_rows(schedule, rows.var, together)
    if rows is None or parts is None:
        return ()
    at = parts.loops[rows.var][0]
    for output in reversed(contraction.outputs[: contraction.outputs.index(rows)]):
        at = schedule.apply(fission, output.var, at).loops[output.var][0]
    return parts.labels[contraction.update]


def _separate(schedule: LoopSchedule, around: list[Var], init: Label) -> tuple[list[Var], list[Var]]:
    """Give the store that a sum starts from loops of its own; return its loops and those of the sum."""
    started: list[Var] = []
    summed: list[Var] = []
    at: Label | Var = init
    for var in reversed(around):
        first, second = schedule.apply(fission, var, at).loops[var]
        started.insert(0, first)
        summed.insert(0, second)
        at = first
    return started, summed


def _lay_out(schedule: LoopSchedule, nest: list[Var], lanes: int) -> None:
    """Unroll the loops of a nest, the innermost one in vectors: what is left over in narrower ones."""
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
        lanes = _narrowed(lanes, _extent(loop_of(schedule.program, columns)))
    schedule.apply(unroll, columns)


def _pack(schedule: LoopSchedule, buffer: Buffer, ways: set[tuple[int, int]], stage: StageKind) -> None:
    """Pack a parameter so that what a stage reads side by side is side by side in memory."""
    if len({dimension for dimension, _ in ways}) > 1:
        return
    dimension, width = next(iter(ways))
    extent = buffer.shape[dimension]
    name, last = schedule.program.free_name(f"{buffer.name}_packed"), len(buffer.shape)
    tiles: tuple[tuple[int, int], ...] = ()
    order = (*(place for place in range(last) if place != dimension), dimension)
    if len(ways) == 1 and isinstance(extent, Const) and extent.value % width == 0:
        tiles = ((dimension, width),)
        order = (*range(dimension + 1), *range(dimension + 2, last + 1), dimension + 1)
    if stage is StageKind.BIND:
        schedule.apply(pack, buffer, schedule.program.free_name(f"{name}_first"), tiles, order, first=True)
    else:
        schedule.apply(pack, buffer, name, tiles, order)


def _rows_that_share_a_packing(
    contraction: Contraction, rows: int, machine: Machine, options: ScheduleOptions
) -> int:
    """Return the rows by which a tile's columns are chosen: those of full tiles, where some are left over from these.

    So one packing of a parameter serves both.
    """
    most, _ = options.tile_on(machine)
    few = contraction.packed is not None and contraction.rows is not None and _extent(contraction.rows) < most
    return most if few else rows


def _alike(contraction: Contraction, columns: For, sums: int, machine: Machine) -> For | None:
    """Return a loop over products of the same rows, a cell's gates, that are one tile where each has too few sums.

    These would wait for each other, however fast the matrix comes. All of them fit in registers, with a vector of
    columns of each.
    """
    others = [each for each in contraction.outputs if each is not contraction.rows and each is not columns]
    if contraction.packed is None or len(others) != 1 or sums >= ENOUGH_SUMS:
        return None
    count = _extent(others[0])
    held = count * sums + count + 1
    return others[0] if count > 1 and held <= machine.vector_registers else None


def _dividing(contraction: Contraction, most: int) -> int:
    """Return how many rows, `most` or fewer, fill whole tiles."""
    if most == 1 or contraction.rows is None:
        return 1
    return next(count for count in range(most, 0, -1) if _extent(contraction.rows) % count == 0)


def _lanes(machine: Machine, extent: int) -> int:
    """Return the widest vector, in elements, that the extent fills."""
    return _narrowed(machine.lanes(4), extent)


def _narrowed(lanes: int, extent: int) -> int:
    while lanes > extent:
        lanes //= 2
    return lanes


def _pieces(extent: int, lanes: int) -> int:
    """Return in how many vectors the columns are held, the last ones narrower."""
    return extent // lanes + (extent % lanes).bit_count()


def _vectors(count: int, most: int) -> int:
    """Return how many vectors to compute at once: as many as divide the count, unless that is few."""
    even = max(n for n in range(1, most + 1) if count % n == 0)
    return even if 2 * even >= min(count, most) else min(count, most)


def _extent(loop: For) -> int:
    assert isinstance(loop.extent, Const)
    return int(loop.extent.value)
