"""Reduction interchange: initialize all elements of a row, then add each term to all of them."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.analysis.loop_bodies import loop_of
from ragged.analysis.row_pairs import pair_row
from ragged.analysis.strides import is_consecutive
from ragged.ir.expr import Call, Const, Var
from ragged.ir.stmt import Block, For, Label, Let, Reduce, Stmt, Store
from ragged.ir.walk import expressions, loads, mentions
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.lift_lets import lift_lets
from ragged.transform.loops.fission import fission
from ragged.transform.loops.reorder import reorder


@dataclass(frozen=True, slots=True)
class InterchangedReduction:
    """A loop over consecutive elements, in each of which one starts, `init`, and is summed up over terms, `update`.

    `over` are the loops over terms, outermost first.
    """

    loop: For
    init: Label
    over: tuple[For, ...]
    update: Label


def reduction_of(stmt: Stmt) -> InterchangedReduction | None:
    """Return the sum that a statement is, of a number of elements or as many as a size says; else None."""
    match stmt:
        case For(extent=Const() | Call(args=())):
            return sum_side_by_side(stmt)
        case _:
            return None


def sum_side_by_side(stmt: Stmt) -> InterchangedReduction | None:
    """Return the sum of consecutive elements that a statement is, or None."""
    match stmt:
        case For(body=Block(body=(Store(label=init), For() as body))):
            over: list[For] = []
            inner: Stmt = body
            while isinstance(inner, For | Let):
                over += [inner] if isinstance(inner, For) else []
                inner = inner.body
            if isinstance(inner, Reduce) and is_side_by_side(inner, stmt.var):
                return InterchangedReduction(stmt, init, tuple(over), inner.label)
            return None
        case _:
            return None


def interchange_reduction(schedule: LoopSchedule, found: InterchangedReduction) -> tuple[Var, Var]:
    """Interchange a reduction with the loop over elements; return the loops that initialize and update the elements.

    before::

        for i in serial(64):
            y[i] = 0.0
            for k in serial(n):
                y[i] += x[k, i]

    after::

        for i in serial(64):
            y[i] = 0.0
        for k in serial(n):
            for i_rest in serial(64):
                y[i_rest] = reduce(sum, x[k, i_rest], over=(k,))

    The order of each element's sum stays. Raises `ScheduleError` where a primitive refuses; the schedule may have
    changed by then.
    """
    start, rest = schedule.apply(fission, found.loop.var, found.init).loops[found.loop.var]
    schedule.apply(reorder, (*(loop.var for loop in found.over), rest))
    if isinstance(loop_of(schedule.program, rest).body, Let):
        schedule.apply(lift_lets, rest)
    return start, rest


def is_side_by_side(stmt: Store | Reduce, var: Var) -> bool:
    """Return whether what is written is consecutive in `var`, and all that is read is too, or is the same throughout.

    Pairs are, of what is consecutive.
    """
    if pair_row(stmt, var) is not None:
        return True
    if not is_consecutive(stmt.buffer, stmt.indices, var) or (isinstance(stmt, Reduce) and var in stmt.axes):
        return False
    return all(
        is_consecutive(part.buffer, part.indices, var) or not mentions(part, (var,))
        for part in loads(*expressions(stmt))
    )
