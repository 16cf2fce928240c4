"""The grid of `cortex.tune`: for each option of a model's schedules the values to try."""

from __future__ import annotations

from collections.abc import Iterator

from cortex.compiler.options import RecursionOptions
from cortex.ra.model import Model
from cortex.ra.schedule import RecursionSchedule, default_schedule
from ragged.errors import ScheduleError
from ragged.tuning.space import LOOPS, Grid


def default_grid(model: Model | RecursionSchedule, base: RecursionOptions) -> Grid:
    """Return the values that are tried where none are named: about twenty besides those of `base`.

    Of a schedule that is given, the recursion is left as it is. The operators that are refactored are, together, all
    that change no order of a sum, and all that can be.
    """
    grid = dict(LOOPS)
    if isinstance(model, Model):
        schedule = default_schedule(model)
        if "s.hoist_inputs()" in schedule.log():
            grid["hoist_inputs"] = (False,)
        grid["refactor"] = tuple(dict.fromkeys(filter(None, _refactorings(model))))
        grid["unroll"] = (1,)
    return {
        name: [value for value in values if value != getattr(base, name)] for name, values in grid.items()
    }


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
