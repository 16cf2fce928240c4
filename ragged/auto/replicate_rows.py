"""Rows that every worker makes for himself, so that nobody waits for another's columns of them."""

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
    schedule: LoopSchedule, loop: Var, own: Collection[Var] = ()
) -> Iterator[tuple[Var, bool]]:
    """Cut a parallel loop around what makes cheap rows that products read; yield the parts, and which make them.

    Cheap are copies, sums over children, and pairs of bfloat16 of what is there. These rows are read whole: workers
    who share columns would each wait for all others' columns of them. They are made of what came with the batches
    before, or of other such rows; pairs also of what all workers have just made, for which they wait once anyway. `own`
    are loops before this one that make some.
    """
    own = set(own)
    current = loop
    while True:
        parts = parts_of(loop_of(schedule.program, current))
        found = cheap_parts(schedule.program, current, own)
        at = next((i for i, part in enumerate(parts) if part in found), None)
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
        own.add(current)
        yield current, True
        if rest is None:
            return
        current = rest


def cheap_parts(program: Program, loop: Var, own: Collection[Var] = ()) -> list[Stmt]:
    """Return the statements directly in a loop that make cheap rows of what no statement before them writes, or pairs.

    What loops in `own` write counts as there. Rows that others make too, or that are used before, are nobody's own.
    """
    site = loop_site(program, loop, "replicate_rows")
    around = next((outer for outer in reversed(site.around) if isinstance(outer, For)), None)
    if around is None:
        return []
    shared = _used_outside(program, around)
    made: set[Buffer] = set()
    found: list[Stmt] = []
    before, after = _others(around.body, loop)
    for other in before:
        made |= written(other) if other.var not in own else set()
        shared |= read(other) | written(other)
    for other in after:
        shared |= written(other)
    wanted = _wanted(program) - shared
    for part in parts_of(loop_of(program, loop)):
        there = all(map(_rounds, leaves(part))) or not (read(part) - written(part)) & made
        if _is_cheap(part) and written(part) <= wanted and there:
            found.append(part)
        else:
            made |= written(part)
    return found


def _used_outside(program: Program, loop: For) -> set[Buffer]:
    """Return what statements of the kernel that are not in a loop read or write."""
    return {
        buffer
        for site in sites(program)
        if isinstance(site.stmt, Leaf) and not any(outer is loop for outer in site.around)
        for buffer in read(site.stmt) | written(site.stmt)
    }


def _others(body: Stmt, loop: Var) -> tuple[list[For], list[For]]:
    """Return the parallel loops in a statement that stand before one, and those that stand after it."""
    found = _parallel(body)
    here = next(place for place, stmt in enumerate(found) if stmt.var is loop)
    return found[:here], found[here + 1 + len(_parallel(found[here].body)) :]


def _parallel(body: Stmt) -> list[For]:
    return [stmt for stmt in statements(body) if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL]


def _is_cheap(part: Stmt) -> bool:
    """True for what copies rows to a workspace, makes pairs of them, or adds them up, a number that is not known."""
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
    """True for what stores an element that stands elsewhere; where there is none, a number."""
    match leaf:
        case Store(value=Load() | Select(if_true=Load() | Const(), if_false=Load() | Const())):
            return True
        case _:
            return False


def _rounds(leaf: Leaf) -> bool:
    """True for what stores a pair of bfloat16."""
    return isinstance(leaf, Store) and isinstance(leaf.value, Binary) and leaf.value.op is BinaryOp.PAIR


def _wanted(program: Program) -> set[Buffer]:
    """Return the buffers whose rows are multiplied with a matrix of parameters, or rounded for that.

    Products of two matrices are left out: a slice reads no more than its own part of the iteration's matrix, so that no
    worker needs what another one makes.
    """
    weighted = {
        contraction.update
        for contraction in contractions(program)
        if contraction.packed is not None and contraction.rows is None
    }
    multiplied = {
        part.buffer
        for site in sites(program)
        if isinstance(site.stmt, Reduce) and site.stmt.label in weighted
        for part in all_expressions(site.stmt)
        if isinstance(part, Load)
        and part.buffer is not site.stmt.buffer
        and part.buffer.role is Role.WORKSPACE
    }
    roundings = (leaf for leaf in leaves(program.kernel) if _rounds(leaf) and written(leaf) <= multiplied)
    return multiplied.union(*map(read, roundings))
