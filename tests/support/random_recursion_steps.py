"""Random steps of a recursion's schedule, with arguments that are legal and some that are not.

`STEPS` is the table of the primitives: the name of the schedule's method, and what draws its arguments.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from random import Random
from typing import Any

from cortex import ra
from cortex.ra.tensor import IfThenElse
from ragged.errors import ScheduleError
from tests.support.tally import Tally

Arguments = tuple[Any, ...]

ELSEWHERE = ra.compute((ra.N, 2), lambda n, i: 1.0, name="elsewhere")
"""A tensor of no model."""


def _nothing(draw: Random, schedule: ra.Schedule) -> Arguments:
    return ()


def _branch(draw: Random, schedule: ra.Schedule) -> Arguments:
    """Draw mostly a tensor that has branches."""
    branches = [tensor for tensor in schedule.model.computes if isinstance(tensor, IfThenElse)]
    return (draw.choice([*branches, *branches, *branches, *schedule.model.computes, ELSEWHERE]),)


def _tensor(draw: Random, schedule: ra.Schedule) -> Arguments:
    return (draw.choice([*schedule.model.computes, ELSEWHERE]),)


def _alone(draw: Random, schedule: ra.Schedule) -> Arguments:
    """Draw mostly a tensor that depends on no child."""
    alone = [tensor for tensor in schedule.model.computes if not tensor.calls]
    return (draw.choice([*alone, *alone, *alone, *schedule.model.computes, ELSEWHERE]),)


def _condition(draw: Random, schedule: ra.Schedule) -> Arguments:
    """Draw a condition on the number of children, on a payload that is an integer, or on what none can be on."""
    payloads = list(schedule.model.payloads.values())
    integers = [each for each in payloads if each.dtype.is_int and len(each.shape) == 1]
    value, compare = draw.randint(-1, 4), draw.choice([operator.eq, operator.ge, operator.lt, operator.ne])
    of_node = [ra.isleaf, lambda n: compare(ra.num_children(n), value)]
    of_payloads = [lambda n, each=each: compare(each[n], value) for each in integers]
    illegal = [lambda n: ELSEWHERE[n, 0] >= value, lambda n: ra.isleaf(n.left), lambda n: value]
    return (draw.choice([*of_node, *of_payloads, *of_payloads, draw.choice(illegal)]),)


def _depth(draw: Random, schedule: ra.Schedule) -> Arguments:
    return (draw.choice([1, 1, 2, 3, 7, 0]),)


def _width(draw: Random, schedule: ra.Schedule) -> Arguments:
    return (draw.choice([None, None, 1, 2, 5, 0]),)


STEPS: dict[str, Callable[[Random, ra.Schedule], Arguments]] = {
    "dynamic_batch": _width,
    "specialize_if_else": _branch,
    "specialize": _condition,
    "specialize_leaves": _nothing,
    "hoist_constants": _nothing,
    "hoist_inputs": _nothing,
    "tabulate": _alone,
    "refactor": _tensor,
    "compute_once": _tensor,
    "unroll": _depth,
}


def random_recursion(draw: Random, model: ra.Model, tally: Tally) -> ra.Schedule:
    """Draw the schedule of a model's recursion: any steps in any order. A refused one changes nothing."""
    schedule = ra.Schedule(model)
    drawn = draw.choices([*STEPS, "refactor"], k=draw.randint(0, 6))
    for name in [*draw.choice([["dynamic_batch"], ["dynamic_batch"], []]), *drawn]:
        before = (schedule.model, schedule.log(), str(schedule.plan()), schedule.finite)
        try:
            getattr(schedule, name)(*STEPS[name](draw, schedule))
        except ScheduleError as refusal:
            tally.refuse(f"ra.{name}", refusal)
            assert (schedule.model, schedule.log(), str(schedule.plan()), schedule.finite) == before, name
        else:
            tally.accept(f"ra.{name}")
    return schedule
