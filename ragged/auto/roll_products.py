"""Products side by side: the gates of a cell as one nest in a loop, over one table of weights."""

from __future__ import annotations

from ragged.auto.bodies import loop_of, parts_of
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Load, Role, Var
from ragged.ir.program import Program
from ragged.ir.stmt import For, Reduce, Store
from ragged.ir.walk import leaves, subexpressions
from ragged.schedule.roll import roll
from ragged.schedule.schedule import Schedule
from ragged.schedule.stack import stack

_FIXED = (Role.PARAMETER, Role.BOUND)
"""What weights are: parameters, or tables made of them."""


def roll_products(schedule: Schedule, loop: Var) -> None:
    """Make one nest of each run of products in a loop that differ in parameter and result alone."""
    run: list[For] = []
    for part in [*parts_of(loop_of(schedule.program, loop)), None]:
        if isinstance(part, For) and _rollable(part) and (not run or _alike(run[0], part)):
            run.append(part)
            continue
        if len(run) > 1:
            _roll(schedule, run)
        run = [part] if isinstance(part, For) and _rollable(part) else []


def _roll(schedule: Schedule, run: list[For]) -> None:
    before = schedule.checkpoint()
    results = [_result(nest) for nest in run]
    weights = [_weights(nest) for nest in run]
    try:
        schedule.apply(stack, tuple(results), _joined(schedule.program, results))
        schedule.apply(stack, tuple(weights), _joined(schedule.program, weights))
        schedule.apply(roll, tuple(nest.var for nest in run), "g")
    except ScheduleError:
        schedule.restore(before)


def _joined(program: Program, buffers: list[Buffer]) -> str:
    taken = {buffer.name for buffer in program.buffers} | {function.name for function in program.functions}
    name = "_".join(buffer.name for buffer in buffers)
    while name in taken:
        name += "_"
    return name


def _result(nest: For) -> Buffer:
    return next(leaf.buffer for leaf in leaves(nest) if isinstance(leaf, Reduce))


def _weights(nest: For) -> Buffer:
    return next(buffer for buffer in _read(nest) if buffer.role in _FIXED)


def _read(nest: For) -> list[Buffer]:
    values = [leaf.value for leaf in leaves(nest) if isinstance(leaf, Reduce)]
    return [part.buffer for value in values for part in subexpressions(value) if isinstance(part, Load)]


def _rollable(nest: For) -> bool:
    """True for a sum of products of one parameter and one other operand, into a temporary."""
    writers = [leaf for leaf in leaves(nest) if isinstance(leaf, Store | Reduce)]
    if (
        len(writers) != 2
        or not isinstance(writers[1], Reduce)
        or writers[1].buffer.role is not Role.WORKSPACE
    ):
        return False
    operands = _read(nest)
    return len(operands) == 2 and sum(buffer.role in _FIXED for buffer in operands) == 1


def _alike(a: For, b: For) -> bool:
    """True if two products read one other operand, and parameters of one shape."""
    mine, yours = _weights(a), _weights(b)
    others = [
        [buffer for buffer in _read(nest) if buffer is not own] for nest, own in ((a, mine), (b, yours))
    ]
    distinct = mine is not yours and _result(a) is not _result(b)
    return distinct and others[0] == others[1] and mine.shape == yours.shape
