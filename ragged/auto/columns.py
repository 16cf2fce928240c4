"""Columns of a matrix for each worker: loops over batches, arranged so that slices of what they compute are shared out.

A worker that has the same columns of a weight matrix in every batch finds them in its own cache again: the CPU's form
of model persistence. What reads whole rows of what came before starts a loop of its own, after a barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ragged.analysis.contractions import packed_bytes_in, packed_contractions
from ragged.analysis.loop_bodies import loop_of, name_of, parts_of
from ragged.auto.block_rows import block_rows
from ragged.auto.fuse_edges import fuse_edges
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.auto.replicate_rows import replicate_rows
from ragged.auto.reroll_gates import reroll_gates
from ragged.errors import ScheduleError
from ragged.ir.expr import Const, Ref, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import sites
from ragged.ir.stmt import For, Let, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import leaves
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fission import fission
from ragged.transform.loops.slice_columns import slice_columns

_PART = 2 / 3
"""What slices of matrices may take of the second cache."""
_NARROWEST = 2
"""Vectors of a slice that is narrow only to stay there: all rows are read once for each of the slices.

Ternary TreeLSTM at 512 on two cores of 1 MiB each (Zen 4), whose slices that stay are one vector, takes with four of it
0.69 to 0.86 of the time from twelve nodes in a batch on.
"""


@dataclass(frozen=True, slots=True)
class Columns:
    """What there is for a team: whether there are slices of columns, and the loops that everybody runs for himself."""

    sliced: bool = False
    own: tuple[Var, ...] = ()


def share_columns(
    schedule: LoopSchedule, machine: Machine, options: ScheduleOptions = DEFAULT, *, team: bool = False
) -> Columns:
    """Slice the columns of parallel loops around products with a parameter; return what there is for a team.

    Sums of products that differ only in what they read and write become one nest in a loop; those over the children of
    a batch's nodes a loop over all their edges. What a primitive refuses is left as it is. Comes first, on the program
    as the model says it: every temporary is materialised. For a `team`, sums that its workers each compute for
    themselves are loops of their own.
    """
    sliced = False
    own: tuple[Var, ...] = ()
    for loop in _worth(schedule.program):
        if options.reroll:
            reroll_gates(schedule, loop)
        for part in fuse_edges(schedule, loop):
            if not options.share_columns:
                continue
            width = partial(_width, machine, options.slice_vectors, packed_bytes_in(schedule.program, part))
            before = schedule.checkpoint()
            rows = block_rows(schedule, part, options.gather_block_rows * machine.cores)
            pieces = (
                tuple(replicate_rows(schedule, rows, own))
                if team and options.replicate_rows
                else ((rows, False),)
            )
            done = [slice_loop(schedule, piece, width) for piece, mine in pieces if not mine]
            if pieces != ((part, False),) and not any(done):
                schedule.restore(before)
                pieces, done = ((part, False),), [slice_loop(schedule, part, width)]
            sliced |= any(done)
            own += tuple(piece for piece, mine in pieces if mine)
    return Columns(sliced, own)


def _worth(program: Program) -> list[Var]:
    """Return the outermost parallel loops around products with a parameter."""
    updates = packed_contractions(program)
    return [loop.var for loop in outermost(program) if any(leaf.label in updates for leaf in leaves(loop))]


def outermost(program: Program) -> list[For]:
    """Return the outermost parallel loops of the kernel, in the order of the text."""
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
    """Slice a loop over a batch; where one set of slices does not do for all of it, cut it in two and try again.

    `width` says how many of so many columns are a slice, or raises `ScheduleError` where there are too few of them.
    Returns whether some of the loop is in slices.
    """
    columns = [_column(part) for part in parts_of(loop_of(schedule.program, loop))]
    known = [column for column in columns if column is not None]
    current, start = loop, 0
    if len(known) < len(columns):
        return False
    while start < len(known):
        before = schedule.checkpoint()
        for end in range(len(known), start, -1):
            group = known[start:end]
            schedule.restore(before)
            try:
                here, rest = current, None
                if end < len(known):
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
    """Return the outermost loop of constant extent over what a statement writes, a row of it being the loop's."""
    stmt = part
    while not (isinstance(stmt, For) and isinstance(stmt.extent, Const) and not _is_rolled(stmt)):
        match stmt:
            case For(body=body) | Let(body=body):
                stmt = body
            case _:
                return None
    return _Column(part, stmt.var, int(stmt.extent.value))


def _is_rolled(loop: For) -> bool:
    """True for a loop over stacked buffers: its variable comes before the row in what it writes."""
    writers = [leaf for leaf in leaves(loop) if isinstance(leaf, Store | Reduce)]
    return all(leaf.indices[:1] == (Ref(loop.var),) for leaf in writers)


def _width(machine: Machine, most_vectors: int, matrices: int, extent: int) -> int:
    """Return the columns of a slice: a few vectors, and slices that can be shared out evenly.

    The measure is what the busiest core does, in vectors; a tile of few vectors keeps the units less busy. What a slice
    has of the `matrices`, which is read again for each few rows, is to stay in the second cache, unless the slice
    would be too narrow then.

    Raises:
        ScheduleError: there are not enough columns for each core to have a vector of them. Cores share nodes then.
    """
    lanes = machine.lanes(4)

    def cost(width: int) -> tuple[float, bool, int]:
        vectors, slices = -(-width // lanes), -(-extent // width // machine.cores)
        return slices * (vectors + 0.5), width % lanes != 0, -width

    most = min(most_vectors * lanes, extent // machine.cores)
    widths = [width for width in range(lanes, most + 1) if extent % width == 0]
    if not widths:
        raise ScheduleError(f"{extent} columns are too few to share")
    room = machine.l2_bytes * _PART
    narrowest = min(_NARROWEST * lanes, widths[-1])
    staying = [width for width in widths if width >= narrowest and matrices // extent * width <= room]
    return min(staying or widths, key=cost)
