"""Reroll the gates of a cell: contractions of the same rows become one nest over concatenated weights."""

from __future__ import annotations

from itertools import pairwise

from ragged.analysis.loop_bodies import loop_of, parts_of
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Expr, Load, Ref, Role, Var
from ragged.ir.index import contents
from ragged.ir.program import Program
from ragged.ir.rewrite import substitute, substitute_lets
from ragged.ir.stmt import For, Let, Reduce, Store
from ragged.ir.walk import leaves, loads, statements
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.reorder_stmts import reorder_stmts
from ragged.transform.locate import follow
from ragged.transform.loops.reroll import reroll
from ragged.transform.storage.concat_buffers import concat_buffers

_FIXED = (Role.PARAMETER, Role.BOUND)
"""What weights are: parameters, or tables made of them."""


def reroll_gates(schedule: LoopSchedule, loop: Var) -> None:
    """Reroll the contractions in a loop that differ only in matrix and result, wherever in it they stand."""
    seen: set[Var] = set()
    while True:
        parts = parts_of(loop_of(schedule.program, loop))
        nests = (part for part in parts if isinstance(part, For) and seen.isdisjoint(contents(part).loops))
        left = [nest for nest in nests if _can_reroll(nest)]
        if not left:
            return
        group = left[:1]
        for other in left[1:]:
            if _same_operands(group, other):
                group.append(other)
        while len(group) > 1 and not _reroll(schedule, group):
            group.pop()
        seen.update(nest.var for nest in group)


def _reroll(schedule: LoopSchedule, run: list[For]) -> bool:
    """Make one nest of these; return whether that was possible."""
    before = schedule.checkpoint()
    results = [_result(nest) for nest in run]
    weights = [_weights(nest) for nest in run]
    try:
        for one, other in pairwise(run):
            if not follow(schedule.program, one, other):
                schedule.apply(reorder_stmts, other.var, one.var)
        schedule.apply(concat_buffers, tuple(results), _joined(schedule.program, results))
        if len(set(weights)) > 1:
            schedule.apply(concat_buffers, tuple(weights), _joined(schedule.program, weights))
        schedule.apply(reroll, tuple(nest.var for nest in run), "g")
    except ScheduleError:
        schedule.restore(before)
        return False
    return True


def _joined(program: Program, buffers: list[Buffer]) -> str:
    taken = {buffer.name for buffer in program.buffers} | {function.name for function in program.functions}
    name = "_".join(buffer.name for buffer in buffers)
    while name in taken:
        name += "_"
    return name


def _result(nest: For) -> Buffer:
    return next(leaf.buffer for leaf in leaves(nest) if isinstance(leaf, Reduce))


def _weights(nest: For) -> Buffer:
    return next(load.buffer for load in _read(nest) if load.buffer.role in _FIXED)


def _read(nest: For) -> list[Load]:
    values = [leaf.value for leaf in leaves(nest) if isinstance(leaf, Reduce)]
    return [*loads(*values)]


def _can_reroll(nest: For) -> bool:
    """True for a sum of products of one parameter and one other operand, into a temporary."""
    writers = [leaf for leaf in leaves(nest) if isinstance(leaf, Store | Reduce)]
    if (
        len(writers) != 2
        or not isinstance(writers[1], Reduce)
        or writers[1].buffer.role is not Role.WORKSPACE
    ):
        return False
    operands = _read(nest)
    return len(operands) == 2 and sum(load.buffer.role in _FIXED for load in operands) == 1


def _same_operands(known: list[For], other: For) -> bool:
    """True if products read the same rows, and matrices of one shape: each its own, or all of one parameter."""
    first, used = known[0], [*map(_weights, known), _weights(other)]
    if _result(other) in map(_result, known) or _rows(first, first) != _rows(other, first):
        return False
    return len(set(used)) in (1, len(used)) and used[0].shape == used[-1].shape


def _rows(nest: For, other: For) -> Expr:
    """Return what a product's matrix is multiplied with, in the loops of another nest."""
    lets = [stmt for stmt in statements(nest) if isinstance(stmt, Let)]
    rows: Expr = next(load for load in _read(nest) if load.buffer.role not in _FIXED)
    rows = substitute_lets(rows, lets)
    loops = zip(contents(nest).loops, contents(other).loops, strict=False)
    return substitute(rows, {mine: Ref(yours) for mine, yours in loops})
