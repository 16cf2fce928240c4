"""Vectors for what is done element by element: everything around the sums of products."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ragged.auto.machine import Machine
from ragged.auto.strides import is_consecutive
from ragged.errors import ScheduleError
from ragged.ir.analysis import sites
from ragged.ir.expr import Const, Load, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.stmt import Block, For, Label, Let, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import expressions, leaves, mentions, subexpressions
from ragged.schedule.fission import fission
from ragged.schedule.lift_lets import lift_lets
from ragged.schedule.pair_rows import pair_row
from ragged.schedule.reorder import reorder
from ragged.schedule.schedule import Schedule
from ragged.schedule.split import Tail, split
from ragged.schedule.vectorize import vectorize


def vectorize_columns(schedule: Schedule, machine: Machine, leave: Collection[Label] = ()) -> None:
    """Run loops over consecutive elements in vectors; sums over children come outside of such loops.

    The order of each sum stays. The sums that the statements `leave` update are left as they are, and what a primitive
    refuses is left to the code generator.
    """
    for loop, init, inner in list(_sums(schedule.program, leave)):
        before = schedule.checkpoint()
        try:
            rest = schedule.apply(fission, loop, init).loops[loop][1]
            schedule.apply(reorder, (inner, rest))
            if _begins_with_let(schedule.program, rest):
                schedule.apply(lift_lets, rest)
        except ScheduleError:
            schedule.restore(before)
    lanes = machine.lanes(4)
    for loop in list(_elementwise(schedule.program, lanes)):
        before = schedule.checkpoint()
        try:
            schedule.apply(vectorize, schedule.apply(split, loop, lanes, Tail.PEEL).loops[loop][1])
        except ScheduleError:
            schedule.restore(before)


def vectorize_rows(schedule: Schedule, machine: Machine) -> None:
    """Run loops over the consecutive elements of rows of any length in vectors, and the rest in narrower ones.

    Comes last: the storage of rows is contracted while one loop goes over each.
    """
    lanes = machine.lanes(4)
    for loop in [loop.var for loop in _plain_loops(schedule.program) if not isinstance(loop.extent, Const)]:
        before = schedule.checkpoint()
        try:
            rest = loop
            for width in (lanes, lanes // 2, lanes // 4):
                _, inner, rest = schedule.apply(split, rest, width, Tail.PEEL).loops[rest]
                schedule.apply(vectorize, inner)
        except ScheduleError:
            schedule.restore(before)


def _begins_with_let(program: Program, var: Var) -> bool:
    return any(loop.var is var and isinstance(loop.body, Let) for loop in _kernel_loops(program))


def _kernel_loops(program: Program) -> Iterator[For]:
    for site in sites(program):
        loop = site.stmt
        if site.stage.kind is StageKind.KERNEL and isinstance(loop, For) and loop.kind is LoopKind.SERIAL:
            yield loop


def _sums(program: Program, leave: Collection[Label]) -> Iterator[tuple[Var, Label, Var]]:
    """Yield each loop that starts and sums up one element after another, the start, and the loop of the sum."""
    for loop in _kernel_loops(program):
        match loop.body:
            case _ if not isinstance(loop.extent, Const):
                pass
            case Block(body=(Store(label=label), For(var=inner, body=body))) if _is_sum(body, loop.var):
                if not any(leaf.label in leave for leaf in leaves(body)):
                    yield loop.var, label, inner


def _is_sum(stmt: Stmt, var: Var) -> bool:
    while isinstance(stmt, Let):
        stmt = stmt.body
    return isinstance(stmt, Reduce) and _consecutive(stmt, var)


def _elementwise(program: Program, lanes: int) -> Iterator[Var]:
    """Yield the innermost loops over consecutive elements that fill a vector."""
    for loop in _plain_loops(program):
        if isinstance(loop.extent, Const) and int(loop.extent.value) >= lanes:
            yield loop.var


def _plain_loops(program: Program) -> Iterator[For]:
    """Yield the innermost loops over consecutive elements."""
    for loop in _kernel_loops(program):
        stmts = loop.body.body if isinstance(loop.body, Block) else (loop.body,)
        writers = [stmt for stmt in stmts if isinstance(stmt, Store | Reduce)]
        if len(writers) == len(stmts) and all(_consecutive(leaf, loop.var) for leaf in writers):
            yield loop


def _consecutive(stmt: Store | Reduce, var: Var) -> bool:
    """True if what is written is consecutive in `var`, and all that is read is too, or is the same throughout.

    Pairs are, of what is consecutive.
    """
    if pair_row(stmt, var) is not None:
        return True
    if not is_consecutive(stmt.buffer, stmt.indices, var) or (isinstance(stmt, Reduce) and var in stmt.axes):
        return False
    parts = (part for expr in expressions(stmt) for part in subexpressions(expr))
    return all(
        is_consecutive(part.buffer, part.indices, var) or not mentions(part, (var,))
        for part in parts
        if isinstance(part, Load)
    )
