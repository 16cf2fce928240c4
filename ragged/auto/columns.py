"""Column slices: each worker computes the same columns of the weights in every batch, from its own cache.

This is model persistence on a CPU. A consumer of whole rows starts another loop, after a barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ragged.analysis.contractions import packed_bytes_in, packed_contractions
from ragged.analysis.loop_bodies import loop_of, name_of, parts_of
from ragged.analysis.matrix_nests import LANES
from ragged.auto.block_rows import block_rows
from ragged.auto.fuse_edges import fuse_edges
from ragged.auto.options import DEFAULT, ScheduleOptions, tiles_cost
from ragged.auto.replicate_rows import replicate_rows
from ragged.auto.reroll_gates import reroll_gates
from ragged.errors import ScheduleError
from ragged.ir.dtype import DType
from ragged.ir.expr import Const, Ref, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import sites
from ragged.ir.stmt import For, Let, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import leaves, read
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fission import fission
from ragged.transform.loops.slice_columns import slice_columns

_L2_SHARE = 2 / 3
"""The part of the L2 cache that slices of matrices may take."""
_MIN_VECTORS = 2
"""The fewest vectors of a slice that is narrow only to stay in the L2 cache: all rows are read once per slice."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What a team distributes: whether there are slices of columns, and the loops that every worker runs in full."""

    sliced: bool = False
    replicated: tuple[Var, ...] = ()


def share_columns(
    schedule: LoopSchedule, machine: Machine, options: ScheduleOptions = DEFAULT, *, team: bool = False
) -> Columns:
    """Slice the columns of parallel loops around contractions with a parameter; return what a team may distribute.

    Contractions that differ only in their operands become one rerolled nest; those over the children of a batch's nodes
    become a loop over all edges. A loop that a primitive refuses stays as it is. Comes first, while every temporary is
    materialized. For a `team`, producers of rows that are to be replicated become separate loops.
    """
    sliced = False
    replicated: tuple[Var, ...] = ()
    for loop in _with_parameters(schedule.program):
        if options.reroll:
            reroll_gates(schedule, loop)
        for part in fuse_edges(schedule, loop):
            if not options.share_columns:
                continue
            by_sixteens = options.on_unit(machine) and _has_pairs(loop_of(schedule.program, part))
            matrices = packed_bytes_in(schedule.program, part)
            width = partial(_width, machine, options, matrices, LANES if by_sixteens else 1)
            before = schedule.checkpoint()
            rows = block_rows(schedule, part, options.gather_block_rows * machine.cores)
            pieces = (
                tuple(replicate_rows(schedule, rows, replicated))
                if team and options.replicate_rows
                else ((rows, False),)
            )
            done = [slice_loop(schedule, piece, width) for piece, replicate in pieces if not replicate]
            if pieces != ((part, False),) and not any(done):
                schedule.restore(before)
                pieces, done = ((part, False),), [slice_loop(schedule, part, width)]
            sliced |= any(done)
            replicated += tuple(piece for piece, replicate in pieces if replicate)
    return Columns(sliced, replicated)


def _with_parameters(program: Program) -> list[Var]:
    """Return the outermost parallel loops around contractions with a parameter."""
    updates = packed_contractions(program)
    return [loop.var for loop in outermost(program) if any(leaf.label in updates for leaf in leaves(loop))]


def outermost(program: Program) -> list[For]:
    """Return the outermost parallel loops of the kernel, in program order."""
    found: list[For] = []
    for site in sites(program):
        loop = site.stmt
        if site.stage.kind is not StageKind.KERNEL or not isinstance(loop, For):
            continue
        if loop.kind is LoopKind.PARALLEL and all(o.kind is not LoopKind.PARALLEL for o in site.loops):
            found.append(loop)
    return found


@dataclass(frozen=True, slots=True)
class _Column:
    """The loop over the columns of a statement directly in a loop over a batch."""

    part: Stmt
    var: Var
    extent: int


def slice_loop(schedule: LoopSchedule, loop: Var, width: Callable[[int], int]) -> bool:
    """Slice a loop over a batch; where its statements do not share one set of slices, split it in two and try again.

    `width` returns the columns of a slice for a number of columns, or raises `ScheduleError` if they are too few.
    Returns whether a part of the loop is sliced.
    """
    columns = [_column(part) for part in parts_of(loop_of(schedule.program, loop))]
    sliceable = [column for column in columns if column is not None]
    current, start = loop, 0
    if len(sliceable) < len(columns):
        return False
    while start < len(sliceable):
        before = schedule.checkpoint()
        for end in range(len(sliceable), start, -1):
            group = sliceable[start:end]
            schedule.restore(before)
            try:
                here, rest = current, None
                if end < len(sliceable):
                    here, rest = schedule.apply(fission, current, name_of(group[-1].part)).loops[current]
                if len({column.extent for column in group}) > 1:
                    raise ScheduleError("columns of several extents")
                columns_of = tuple(column.var for column in group)
                schedule.apply(slice_columns, here, columns_of, width(group[0].extent))
            except ScheduleError as refusal:
                schedule.refuse(f"slice_columns: {current.name}", refusal)
                continue
            if rest is None:
                return True
            current, start = rest, end
            break
        else:
            schedule.restore(before)
            break
    return start > 0


def _column(part: Stmt) -> _Column | None:
    """Return the outermost loop of constant extent over the columns of the row that a statement writes."""
    stmt = part
    while not (isinstance(stmt, For) and isinstance(stmt.extent, Const) and not _is_over_buffers(stmt)):
        match stmt:
            case For(body=body) | Let(body=body):
                stmt = body
            case _:
                return None
    return _Column(part, stmt.var, int(stmt.extent.value))


def _is_over_buffers(loop: For) -> bool:
    """Return whether a loop is over concatenated buffers: its variable is the first index of each write."""
    writers = [leaf for leaf in leaves(loop) if isinstance(leaf, Store | Reduce)]
    return all(leaf.indices[:1] == (Ref(loop.var),) for leaf in writers)


def _has_pairs(loop: For) -> bool:
    """Return whether pairs of bfloat16 are read in a loop."""
    return any(buffer.dtype is DType.BFLOAT16X2 for leaf in leaves(loop) for buffer in read(leaf))


def _width(machine: Machine, options: ScheduleOptions, matrices: int, multiple: int, extent: int) -> int:
    """Return the columns of a slice: a few vectors, a `multiple` of columns, in slices that cores share evenly.

    A matrix unit takes sixteen columns at once, and rounds in its own way: all slices are for it, or none. The cost is
    the work of the busiest core, in vectors, plus half a vector per tile. The slice's part of the matrices (`matrices`
    bytes in all), read again for every few rows, should stay in the L2 cache unless that is too narrow.

    Raises:
        ScheduleError: there are fewer columns than cores times lanes. Cores share nodes then.
    """
    lanes = machine.lanes(4)

    def cost(width: int) -> tuple[float, bool, int]:
        vectors, slices = -(-width // lanes), -(-extent // width // machine.cores)
        _, most = options.tile_on(machine, vectors)
        least = min(tiles_cost(vectors, tile) for tile in range(1, most + 1))
        return slices * least, width % lanes != 0, width

    most = min(options.slice_vectors * lanes, extent // machine.cores)
    widths = [width for width in range(lanes, most + 1) if extent % width == 0 and width % multiple == 0]
    if not widths:
        raise ScheduleError(f"{extent} columns are too few to share")
    budget = machine.l2_bytes * _L2_SHARE
    narrowest = min(_MIN_VECTORS * lanes, widths[-1])
    staying = [width for width in widths if width >= narrowest and matrices // extent * width <= budget]
    return min(staying or widths, key=cost)
