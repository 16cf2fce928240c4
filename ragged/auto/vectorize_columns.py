"""Vectors for what is done element by element: everything around the sums of products."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ragged.auto.interchange_reductions import interchange_reduction, is_side_by_side, reduction_of
from ragged.ir.expr import Const, Select, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import sites
from ragged.ir.stmt import Block, For, Label, LoopKind, Reduce, Store
from ragged.ir.walk import flat, loads, mentions, subexpressions
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.hoist_loads import hoist_loads
from ragged.transform.loops.split import Tail, split
from ragged.transform.mapping.vectorize import vectorize


def vectorize_columns(schedule: LoopSchedule, machine: Machine, leave: Collection[Label] = ()) -> None:
    """Run loops over consecutive elements in vectors; sums over children come outside of such loops.

    The order of each sum stays. The sums that the statements `leave` update are left as they are, and what a primitive
    refuses is left to the code generator.
    """
    for each in [
        found for loop in _kernel_loops(schedule.program) if (found := reduction_of(loop)) is not None
    ]:
        if each.update in leave:
            continue
        with schedule.attempt():
            interchange_reduction(schedule, each)
    lanes = machine.lanes(4)
    _hoist_from_choices(schedule)
    for loop in list(_elementwise(schedule.program, lanes)):
        with schedule.attempt():
            schedule.apply(vectorize, schedule.apply(split, loop, lanes, Tail.PEEL).loops[loop][1])


def vectorize_rows(schedule: LoopSchedule, machine: Machine) -> None:
    """Run loops over the consecutive elements of rows of any length in vectors, and the rest in narrower ones.

    Comes last: the storage of rows is contracted while one loop goes over each.
    """
    lanes = machine.lanes(4)
    _hoist_from_choices(schedule)
    for loop in [loop.var for loop in _plain_loops(schedule.program) if not isinstance(loop.extent, Const)]:
        with schedule.attempt():
            rest = [loop]
            for width in [width for width in (lanes, lanes // 2, lanes // 4) if width > 1]:
                if rest:  # not where a number of whole vectors is left
                    _, inner, *rest = schedule.apply(split, rest[0], width, Tail.PEEL).loops[rest[0]]
                    schedule.apply(vectorize, inner)


def _hoist_from_choices(schedule: LoopSchedule) -> None:
    """Read before a loop what one of two values alone reads that is the same in all of its iterations.

    So `a[c] * x[c, i] if x[c, i] < 0.0 else x[c, i]` is chosen in vectors: nothing is read for the other lanes.
    """
    for loop in list(_plain_loops(schedule.program)):
        choices = (
            part
            for store in flat(loop.body)
            if isinstance(store, Store)
            for part in subexpressions(store.value)
            if isinstance(part, Select) and any(loads(part.condition))
        )
        arms = (arm for part in choices for arm in (part.if_true, part.if_false))
        if any(not mentions(load, (loop.var,)) for arm in arms for load in loads(arm)):
            with schedule.attempt():
                schedule.apply(hoist_loads, loop.var)


def _kernel_loops(program: Program) -> Iterator[For]:
    for site in sites(program):
        loop = site.stmt
        if site.stage.kind is StageKind.KERNEL and isinstance(loop, For) and loop.kind is LoopKind.SERIAL:
            yield loop


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
        if len(writers) == len(stmts) and all(is_side_by_side(leaf, loop.var) for leaf in writers):
            yield loop
