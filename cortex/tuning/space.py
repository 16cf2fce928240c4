"""The default space of `cortex.tune`: for each option of a model's schedules the values to try."""

from __future__ import annotations

from collections.abc import Iterator

from cortex.ra.model import Model
from cortex.ra.schedule import RecursionSchedule, default_schedule
from ragged.errors import ScheduleError
from ragged.tuning.space import LOOPS, Grid


def default_space(model: Model | RecursionSchedule) -> Grid:
    """Return the values that are tried where none are named: about twenty besides the defaults.

    Of a schedule that is given, the recursion is left as it is. The operators that are refactored are, together, all
    that change no order of a sum, and all that can be.
    """
    space = dict(LOOPS)
    if isinstance(model, Model):
        schedule = default_schedule(model)
        if "s.hoist_inputs()" in schedule.log():
            space["hoist_inputs"] = (False,)
        space["refactor"] = tuple(dict.fromkeys(filter(None, _refactorings(model))))
        space["unroll"] = (1,)
    return space


def _refactorings(model: Model) -> Iterator[tuple[str, ...]]:
    """Yield all operators that can be refactored without changing the order of a sum, and all that can be."""
    legal: dict[str, bool] = {}
    for tensor in model.computes:
        schedule = RecursionSchedule(model)
        before = schedule.finite
        try:
            schedule.refactor(tensor)
        except ScheduleError:
            continue
        legal[model.names[tensor]] = schedule.finite == before
    yield tuple(name for name, keeps_order in legal.items() if keeps_order)
    yield tuple(legal)
