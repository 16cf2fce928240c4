"""Sums over children that every worker computes for himself, so that nobody waits for another's columns of them."""

from __future__ import annotations

from collections.abc import Iterator

from ragged.auto.bodies import loop_of, name_of, parts_of
from ragged.auto.products import products
from ragged.errors import ScheduleError
from ragged.ir.analysis import sites
from ragged.ir.expr import Buffer, Const, Load, Role, Var
from ragged.ir.ops import Combiner
from ragged.ir.program import Program
from ragged.ir.stmt import For, Leaf, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import all_expressions, leaves, read, statements, written
from ragged.schedule.fission import fission
from ragged.schedule.locate import loop_site
from ragged.schedule.schedule import Schedule


def own_sums(schedule: Schedule, loop: Var) -> Iterator[tuple[Var, bool]]:
    """Cut a parallel loop around each cheap sum over children that products read; yield the parts, and which are sums.

    These rows are read whole: workers who share columns would each wait for all others' columns of the sum. To add up
    rows of what came with the batches before takes each of them less long.
    """
    current = loop
    while True:
        parts = parts_of(loop_of(schedule.program, current))
        found = _sums(schedule.program, current)
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
        yield current, True
        if rest is None:
            return
        current = rest


def _sums(program: Program, loop: Var) -> list[Stmt]:
    """Return the statements directly in a loop that are cheap sums, of what no statement before them writes."""
    site = loop_site(program, loop, "own_sums")
    body = next((outer.body for outer in reversed(site.around) if isinstance(outer, For)), None)
    if body is None:
        return []
    multiplied = _multiplied(program)
    made: set[Buffer] = set()
    found: list[Stmt] = []
    for part in _before(body, loop):
        made |= written(part)
    for part in parts_of(loop_of(program, loop)):
        if _is_sum(part) and written(part) <= multiplied and not (read(part) - written(part)) & made:
            found.append(part)
        made |= written(part)
    return found


def _before(body: Stmt, loop: Var) -> Iterator[Stmt]:
    """Yield the parallel loops in a statement that stand before one."""
    for stmt in statements(body):
        if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL:
            if stmt.var is loop:
                return
            yield stmt


def _is_sum(part: Stmt) -> bool:
    """True for what adds up rows of a workspace, each over a number of others that is not known."""
    counted = any(isinstance(each, For) and not isinstance(each.extent, Const) for each in statements(part))
    buffers = written(part)
    return counted and len(buffers) == 1 and all(map(_adds, leaves(part)))


def _adds(leaf: Leaf) -> bool:
    match leaf:
        case Store(buffer=buffer, value=Const()) | Reduce(buffer=buffer, combiner=Combiner.SUM, value=Load()):
            return buffer.role is Role.WORKSPACE
        case _:
            return False


def _multiplied(program: Program) -> set[Buffer]:
    """Return the buffers whose rows are multiplied with a matrix of parameters."""
    weighted = {product.update for product in products(program) if product.packed is not None}
    return {
        part.buffer
        for site in sites(program)
        if isinstance(site.stmt, Reduce) and site.stmt.label in weighted
        for part in all_expressions(site.stmt)
        if isinstance(part, Load)
        and part.buffer is not site.stmt.buffer
        and part.buffer.role is Role.WORKSPACE
    }
