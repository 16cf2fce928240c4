"""Tile loops over batches: iterations that run together share the loads of a matrix."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import groupby

from ragged.analysis.contractions import contractions, contractions_in, with_shared_columns
from ragged.analysis.loop_bodies import loop_of, name_of, parts_of
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.auto.tensorize_products import ROWS, suits_matrix_unit
from ragged.auto.tile_sizes import vectors_of
from ragged.errors import ScheduleError
from ragged.ir.buffer_size import MAX_FRAME_BYTES, bytes_of, frame_bytes
from ragged.ir.expr import Buffer, Call, Const, Function, Ref, Role, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import Alloc, Block, For, Label, Let, LoopKind, Reduce, Stmt
from ragged.ir.walk import leaves, read, statements, subexpressions, written
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.locate import loop_site
from ragged.transform.loops.fission import fission
from ragged.transform.loops.specialize import specialize
from ragged.transform.loops.split import Tail, split
from ragged.transform.storage.cache_write import cache_write
from ragged.transform.storage.expand_storage import expand_storage

MOST_ON_STACK = MAX_FRAME_BYTES * 3 // 4
"""The most bytes of local buffers: the rest of a stack frame is for register tiles."""


def tile_batches(schedule: LoopSchedule, machine: Machine, options: ScheduleOptions = DEFAULT) -> None:
    """Run loops over batches some iterations at a time (`ScheduleOptions.tile`), sum by sum; the rest by its number.

    This is for loops of an extent that is known at the call, around sums of products with a parameter, or with what all
    iterations share: a matrix that is read once for four nodes comes from the caches a quarter as often. Temporaries of
    an iteration get room for all; where the stack is too small for that, fewer iterations run together. What a
    primitive refuses, because iterations depend on each other, is left as it is. Comes before `tile_products`.
    """
    for loop, count, on_unit in list(_batches(schedule.program, machine, options)):
        before = schedule.checkpoint()
        for together in (count,) if on_unit else range(count, 1, -1):
            try:
                if on_unit:
                    _in_short_blocks(schedule, loop, count)
                else:
                    _together(schedule, loop, together)
            except ScheduleError:
                schedule.restore(before)
                break
            if on_unit or frame_bytes(schedule.program.kernel) <= MOST_ON_STACK:
                break
            schedule.restore(before)  # what is left over has temporaries of its own for each number of it


def _batches(program: Program, machine: Machine, options: ScheduleOptions) -> Iterator[tuple[Var, int, bool]]:
    """Yield the innermost loops of unknown extent around products with columns that their iterations share.

    With each comes how many iterations are computed together, and whether a matrix unit does; there are none of which
    that is one.
    """
    suit = _on_unit(program) if options.on_unit(machine) else set()
    found = list(contractions(program))
    packed = {p.update: p.packed[0] for p in found if p.packed is not None}
    vectors = {p.update: vectors_of(p, machine) for p in found if p.vector is not None}
    depths = {p.update: p.axis.extent for p in found}
    for site in sites(program):
        loop = site.stmt
        if (
            site.stage.kind is not StageKind.KERNEL
            or not isinstance(loop, For)
            or loop.kind is not LoopKind.SERIAL
        ):
            continue
        if isinstance(loop.extent, Const):
            continue
        updates = set(direct_updates(loop.body))
        here = updates & with_shared_columns(found, loop.var)
        if not here:
            continue
        matrices = {packed[update] for update in updates if update in packed}
        most_vectors = max(vectors[update] for update in here)
        depth = max((int(e.value) for e in map(depths.__getitem__, here) if isinstance(e, Const)), default=0)
        counts = options.tile_rows(machine, sum(map(bytes_of, matrices)), most_vectors, 4 * depth)
        room = frame_bytes(loop.body)
        if (
            here & suit
        ):  # whatever else stands there: the unit has bits of its own, the same in every schedule
            yield loop.var, max(1, min(ROWS, options.max_stack_bytes // max(1, room))), True
            continue
        count = next((count for count in counts if count * room <= options.max_stack_bytes), 1)
        if count > 1:
            yield loop.var, count, False


def _on_unit(program: Program) -> set[Label]:
    return {contraction.update for contraction in contractions(program) if suits_matrix_unit(contraction)}


def direct_updates(stmt: Stmt) -> Iterator[Label]:
    """Yield the reductions in a statement that no further loop of unknown extent repeats."""
    match stmt:
        case Reduce(label=label):
            yield label
        case For(extent=Const(), body=body) | Let(body=body) | Alloc(body=body):
            yield from direct_updates(body)
        case For(var=var, body=Reduce(label=label, axes=(axis,))) if axis is var:
            yield label
        case Block(body=parts):
            for part in parts:
                yield from direct_updates(part)
        case _:
            return


def _together(schedule: LoopSchedule, loop: Var, count: int) -> None:
    hold_scattered(schedule, loop)
    short = may_be_short(schedule.program, loop)
    _, inner, *tails = schedule.apply(split, loop, count, Tail.PEEL).loops[loop]
    product_by_product(schedule, inner)
    for tail in tails if short else ():  # a loop that is padded leaves none
        products_by_length(schedule, tail, tuple(range(1, count)))


def _in_short_blocks(schedule: LoopSchedule, loop: Var, count: int) -> None:
    """Cut a loop into blocks, the last of which is shorter: a matrix unit takes as long for fewer rows."""
    hold_scattered(schedule, loop)
    _, inner = schedule.apply(split, loop, count, Tail.SHORT).loops[loop]
    product_by_product(schedule, inner)


def may_be_short(program: Program, loop: Var) -> bool:
    """True if a loop runs over a batch, of which many are small: what tiles leave over counts.

    It runs once for each batch, or is as long as a loop that does would be for one of them, such as the leaves'.
    """
    site = loop_site(program, loop, "tile_batches")
    if _repeats(site):
        return True
    repeating = (each for each in sites(program) if each.stage.kind is StageKind.KERNEL and _repeats(each))
    lengths = {function for each in repeating for function in _lengths(each.stmt)}
    return not lengths.isdisjoint(_lengths(site.stmt))


def _repeats(site: Site) -> bool:
    """True if a statement runs once for each batch."""
    around = (outer for outer in site.loops if outer.kind is LoopKind.SERIAL)
    return any(not isinstance(outer.extent, Const) and outer.dim is not None for outer in around)


def _lengths(stmt: Stmt) -> set[Function]:
    """Return the functions, of something, that say how often a loop runs."""
    if not isinstance(stmt, For):
        return set()
    calls = (part.function for part in subexpressions(stmt.extent) if isinstance(part, Call))
    return {function for function in calls if function.params}


def products_by_length(schedule: LoopSchedule, rows: Var, lengths: tuple[int, ...]) -> None:
    """As `product_by_product` for a short loop, with copies of its sums for `lengths`: other parts are not copied."""
    for sums in _fissioned(schedule, rows, together=True):
        for copy in schedule.apply(specialize, sums, lengths).loops[sums]:
            product_by_product(schedule, copy)


def product_by_product(schedule: LoopSchedule, rows: Var) -> None:
    """Let each sum of products of a loop of bounded extent run for all iterations before what comes next does.

    A temporary gets room for all iterations where it is used before and after such a cut.
    """
    _fissioned(schedule, rows, together=False)


def _fissioned(schedule: LoopSchedule, rows: Var, *, together: bool) -> list[Var]:
    """Fission a loop before and after its sums of products, and `together` not between them; return loops of sums."""
    loop = loop_of(schedule.program, rows)
    sums = {contraction.update for contraction in contractions_in(schedule.program, rows)}
    segments = _segments(sums, parts_of(loop), together=together)
    for buffer in _allocated(loop):
        if sum(any(buffer in read(part) | written(part) for part in segment) for segment in segments) > 1:
            schedule.apply(expand_storage, buffer, rows)
    loops = [rows]
    for segment in segments[:-1]:
        loops.append(schedule.apply(fission, loops[-1], name_of(segment[-1])).loops[loops[-1]][1])
    return [loop for loop, segment in zip(loops, segments, strict=True) if _is_sum(sums, segment[0])]


def _is_sum(sums: Collection[Label], part: Stmt) -> bool:
    return any(leaf.label in sums for leaf in leaves(part))


def _segments(sums: Collection[Label], parts: Sequence[Stmt], *, together: bool) -> list[list[Stmt]]:
    """Return statements in order: each sum of products by itself, or with its neighbours, and others together."""
    found: list[list[Stmt]] = []
    for is_sum, run in groupby(parts, partial(_is_sum, sums)):
        if is_sum and not together:
            found.extend([part] for part in run)
        else:
            found.append(list(run))
    return found


def hold_scattered(schedule: LoopSchedule, loop: Var) -> None:
    """Hold what an iteration sums up in storage of its own where the rows that iterations write are scattered."""
    body = loop_of(schedule.program, loop).body
    scattered = {
        leaf.label
        for leaf in leaves(body)
        if isinstance(leaf, Reduce) and leaf.buffer.role is not Role.LOCAL and _is_scattered(body, leaf)
    }
    for contraction in list(contractions_in(schedule.program, loop)):
        if contraction.update in scattered:
            schedule.apply(cache_write, contraction.update, loop)


def _is_scattered(body: Stmt, leaf: Reduce) -> bool:
    """True if the row that is written depends on an array."""
    lets = {stmt.var: stmt.value for stmt in statements(body) if isinstance(stmt, Let)}
    rows = (lets.get(index.var, index) if isinstance(index, Ref) else index for index in leaf.indices)
    return any(isinstance(row, Call) for row in rows)


def _allocated(loop: For) -> list[Buffer]:
    """Return the buffers allocated around all that a loop's body does, outermost first."""
    found: list[Buffer] = []
    body = loop.body
    while isinstance(body, Let | Alloc):
        if isinstance(body, Alloc):
            found.append(body.buffer)
        body = body.body
    return found
