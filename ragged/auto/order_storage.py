"""States and temporaries stored so that products read them side by side: a matrix of each node's own, transposed.

A sum over the last dimension of what is stored would be computed number by number; with the dimension of its results
last, it is computed in vectors.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragged.analysis.contractions import contractions
from ragged.analysis.loop_bodies import parts_of
from ragged.analysis.strides import is_consecutive
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Buffer, Const, Load, Ref, Role, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import sites
from ragged.ir.stmt import For, Label, LoopKind, Reduce, Store
from ragged.ir.walk import expressions, loads
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.reorder import reorder
from ragged.transform.storage.pack import pack
from ragged.transform.storage.set_order import set_order

_WRITTEN = (Role.WORKSPACE, Role.OUTPUT)
_GIVEN = (Role.PARAMETER, Role.BOUND)


def order_storage(schedule: LoopSchedule) -> None:
    """Store what products of a kernel read so that each has a loop to compute side by side, if all of them then do.

    What is copied to it or from it element by element is stored alike, parameters by being packed. Comes while
    temporaries are materialised.
    """
    for buffer, dimension in _wanted(schedule.program):
        before, scalar = schedule.checkpoint(), _scalar(schedule.program)
        try:
            schedule.apply(set_order, buffer, _last(buffer, dimension))
            done = _follow(schedule, buffer)
        except ScheduleError:
            done = False
        if not (done and _scalar(schedule.program) < scalar):
            schedule.restore(before)


def order_loops(schedule: LoopSchedule) -> None:
    """Let loops around a store or a sum run so that the innermost one goes over elements that are side by side.

    The other one goes over what lies in memory row by row: slices of it need nothing of each other.
    """
    for inner, outer in list(_crossed(schedule.program)):
        with schedule.attempt():
            schedule.apply(reorder, (inner, outer))


def _wanted(program: Program) -> list[tuple[Buffer, int]]:
    """Return what is to be stored otherwise, once each, and the dimension that is to come last."""
    found: dict[Buffer, int] = {}
    for contraction in contractions(program):
        if contraction.vector is None and contraction.reorderable is not None:
            buffer, dimension = contraction.reorderable
            if buffer.role in _WRITTEN:
                found.setdefault(buffer, dimension)
    return list(found.items())


def _scalar(program: Program) -> frozenset[Label]:
    """Return the products that nothing is computed side by side of."""
    return frozenset(
        contraction.update for contraction in contractions(program) if contraction.vector is None
    )


def _last(buffer: Buffer, dimension: int) -> tuple[int, ...]:
    """Return a buffer's order with a dimension moved to the end."""
    return (*(d for d in buffer.order if d != dimension), dimension)


def _follow(schedule: LoopSchedule, first: Buffer) -> bool:
    """Store what statements write or read together with something that is ordered alike; False if two orders clash."""
    done = {first.name}
    while (step := next(_unlike(schedule.program), None)) is not None:
        buffer, dimension = step
        if buffer.name in done:
            return False
        done.add(buffer.name)
        if buffer.role in _WRITTEN:
            schedule.apply(set_order, buffer, _last(buffer, dimension))
        else:
            order = _last(buffer, dimension)
            schedule.apply(pack, buffer, schedule.program.free_name(f"{buffer.name}_packed"), (), order)
    return True


def _unlike(program: Program) -> Iterator[tuple[Buffer, int]]:
    """Yield what stands in a store, or is a product's result, together with something ordered; and what comes last."""
    sums = {contraction.update: contraction.vector for contraction in contractions(program)}
    for site in sites(program):
        stmt = site.stmt
        if site.stage.kind is not StageKind.KERNEL:
            continue
        if isinstance(stmt, Reduce) and (vector := sums.get(stmt.label)) is not None:
            yield from _apart(Load(stmt.buffer, stmt.indices), vector.var)
        if isinstance(stmt, Store):
            touched = [Load(stmt.buffer, stmt.indices), *loads(*expressions(stmt))]
            for var in filter(None, map(_ordered_along, touched)):
                for each in touched:
                    yield from _apart(each, var)


def _ordered_along(load: Load) -> Var | None:
    """Return the variable that goes over the last dimension of what is stored in an order of its own.

    It goes over that one by one, or by twos, as where pairs are made.
    """
    order = load.buffer.order
    if order == tuple(range(len(order))):
        return None
    match load.indices[order[-1]]:
        case Ref(var=var) | Binary(op=BinaryOp.MUL, lhs=Ref(var=var), rhs=Const(value=2)):
            return var
        case _:
            return None


def _apart(load: Load, var: Var) -> Iterator[tuple[Buffer, int]]:
    """Yield an element's buffer and the dimension that a variable goes over, where that does not come last."""
    places = [d for d, index in enumerate(load.indices) if index == Ref(var)]
    apart = len(places) == 1 and places[0] and places[0] != load.buffer.order[-1]
    if apart and load.buffer.role in (*_WRITTEN, *_GIVEN):
        yield load.buffer, places[0]


def _crossed(program: Program) -> Iterator[tuple[Var, Var]]:
    """Yield pairs of loops, one right in the other around a store, of which the outer goes over the last dimension.

    The store may be what a sum starts from.
    """
    for site in sites(program):
        outer = site.stmt
        if not (isinstance(outer, For) and isinstance(outer.body, For)):
            continue
        inner, store = outer.body, parts_of(outer.body)[0]
        if not isinstance(store, Store):
            continue
        plain = all(
            isinstance(loop.extent, Const) and loop.kind is LoopKind.SERIAL for loop in (outer, inner)
        )
        order = store.buffer.order
        if (
            plain
            and order != tuple(range(len(order)))
            and is_consecutive(store.buffer, store.indices, outer.var)
        ):
            yield inner.var, outer.var
