"""Replicated rows: cheap producers that every worker computes in full, to remove a barrier."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ragged.analysis.contractions import contractions
from ragged.analysis.loop_bodies import loop_of, name_of, parts_of
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Buffer, Const, Load, Role, Select, Var
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.program import Program
from ragged.ir.sites import sites
from ragged.ir.stmt import For, Leaf, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import all_expressions, leaves, read, statements, written
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.locate import loop_site
from ragged.transform.loops.fission import fission


def replicate_rows(
    schedule: LoopSchedule, loop: Var, replicated: Collection[Var] = ()
) -> Iterator[tuple[Var, bool]]:
    """Split a parallel loop around cheap producers of rows; yield the parts, each with whether it is replicated.

    Cheap are copies, sums over children, and pairs of bfloat16. Contractions read these rows whole: workers that share
    columns would wait for each other's. Their operands are results of earlier batches, or replicated rows; those of
    pairs may also be what the workers have just written, for which there is a barrier anyway. `replicated` are the
    replicated loops before this one.
    """
    replicated = set(replicated)
    current = loop
    while True:
        parts = parts_of(loop_of(schedule.program, current))
        cheap = cheap_parts(schedule.program, current, replicated)
        at = next((i for i, part in enumerate(parts) if part in cheap), None)
        if at is None or len(parts) == 1:
            yield current, at is not None
            return
        before = schedule.checkpoint()
        try:
            earlier, rest = None, None
            if at:
                earlier, current = schedule.apply(fission, current, name_of(parts[at - 1])).loops[current]
            if at + 1 < len(parts):
                current, rest = schedule.apply(fission, current, name_of(parts[at])).loops[current]
        except ScheduleError:
            schedule.restore(before)
            yield current, False
            return
        if earlier is not None:
            yield earlier, False
        replicated.add(current)
        yield current, True
        if rest is None:
            return
        current = rest


def cheap_parts(program: Program, loop: Var, replicated: Collection[Var] = ()) -> list[Stmt]:
    """Return the statements directly in a loop that write cheap rows, and read no row that an earlier statement writes.

    Pairs may, and rows that loops in `replicated` write may be read. Rows that another loop writes too, or that are
    accessed before, are left out.
    """
    site = loop_site(program, loop, "replicate_rows")
    around = next((outer for outer in reversed(site.around) if isinstance(outer, For)), None)
    if around is None:
        return []
    shared = _used_outside(program, around)
    written_before: set[Buffer] = set()
    cheap: list[Stmt] = []
    before, after = _others(around.body, loop)
    for other in before:
        written_before |= written(other) if other.var not in replicated else set()
        shared |= read(other) | written(other)
    for other in after:
        shared |= written(other)
    wanted = _wanted(program) - shared
    for part in parts_of(loop_of(program, loop)):
        there = all(map(_rounds, leaves(part))) or not (read(part) - written(part)) & written_before
        if _is_cheap(part) and written(part) <= wanted and there:
            cheap.append(part)
        else:
            written_before |= written(part)
    return cheap


def _used_outside(program: Program, loop: For) -> set[Buffer]:
    """Return the buffers that statements of the kernel outside of a loop read or write."""
    return {
        buffer
        for site in sites(program)
        if isinstance(site.stmt, Leaf) and not any(outer is loop for outer in site.around)
        for buffer in read(site.stmt) | written(site.stmt)
    }


def _others(body: Stmt, loop: Var) -> tuple[list[For], list[For]]:
    """Return the parallel loops of a statement before and after one of them."""
    loops = _parallel(body)
    here = next(place for place, stmt in enumerate(loops) if stmt.var is loop)
    return loops[:here], loops[here + 1 + len(_parallel(loops[here].body)) :]


def _parallel(body: Stmt) -> list[For]:
    return [stmt for stmt in statements(body) if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL]


def _is_cheap(part: Stmt) -> bool:
    """Return whether a statement copies rows to a workspace, rounds them to pairs, or sums up children's."""
    if [buffer.role for buffer in written(part)] != [Role.WORKSPACE]:
        return False
    counted = any(isinstance(each, For) and not isinstance(each.extent, Const) for each in statements(part))
    if counted:
        return all(map(_adds, leaves(part)))
    return all(map(_copies, leaves(part))) or all(map(_rounds, leaves(part)))


def _adds(leaf: Leaf) -> bool:
    match leaf:
        case Store(value=Const()) | Reduce(combiner=Combiner.SUM, value=Load()):
            return True
        case _:
            return False


def _copies(leaf: Leaf) -> bool:
    """Return whether a statement stores an element of another buffer, or a constant where there is none."""
    match leaf:
        case Store(value=Load() | Select(if_true=Load() | Const(), if_false=Load() | Const())):
            return True
        case _:
            return False


def _rounds(leaf: Leaf) -> bool:
    """Return whether a statement stores a pair of bfloat16."""
    return isinstance(leaf, Store) and isinstance(leaf.value, Binary) and leaf.value.op is BinaryOp.PAIR


def _wanted(program: Program) -> set[Buffer]:
    """Return the buffers with rows that are multiplied with a matrix of parameters, or rounded for that.

    Contractions of two matrices are left out: a worker's slice reads only its part of the iteration's matrix.
    """
    vector_updates = {
        contraction.update
        for contraction in contractions(program)
        if contraction.packed is not None and contraction.rows is None
    }
    multiplied = {
        part.buffer
        for site in sites(program)
        if isinstance(site.stmt, Reduce) and site.stmt.label in vector_updates
        for part in all_expressions(site.stmt)
        if isinstance(part, Load)
        and part.buffer is not site.stmt.buffer
        and part.buffer.role is Role.WORKSPACE
    }
    roundings = (leaf for leaf in leaves(program.kernel) if _rounds(leaf) and written(leaf) <= multiplied)
    return multiplied.union(*map(read, roundings))
