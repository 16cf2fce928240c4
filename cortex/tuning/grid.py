"""The grid of `cortex.tune`: for each option the values to try, and their combinations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from typing import Any

from cortex.compiler.options import DEFAULT, RecursionOptions
from cortex.ra.model import Model
from cortex.ra.schedule import RecursionSchedule, default_schedule
from ragged.errors import ScheduleError, UserError

Grid = Mapping[str, Sequence[object]]
"""Values to try, by the name of a field of `RecursionOptions`."""

_LOOPS: Grid = {
    "reduction_unroll": (1, 2, 4),
    "scalar_reduction_unroll": (1,),
    "tile": ((4, 4), (6, 4), (8, 2), (12, 2), (4, 6)),
    "slice_vectors": (2, 8),
    "row_vectors": (4,),
    "rows_per_tile": (1, 8),
    "share_columns": (False,),
    "replicate_rows": (False,),
    "serpentine": (False,),
    "per_node_matrices": (False,),
    "prefetch": (False,),
    "min_rows_per_worker": (4, 64),
}


def default_grid(model: Model | RecursionSchedule, base: RecursionOptions) -> Grid:
    """Return the values that are tried where none are named: about twenty besides those of `base`.

    Of a schedule that is given, the recursion is left as it is. The operators that are refactored are, together, all
    that change no order of a sum, and all that can be.
    """
    grid = dict(_LOOPS)
    if isinstance(model, Model):
        schedule = default_schedule(model)
        if "s.hoist_inputs()" in schedule.log():
            grid["hoist_inputs"] = (False,)
        grid["refactor"] = tuple(dict.fromkeys(filter(None, _refactorings(model))))
        grid["unroll"] = (1,)
    return {
        name: [value for value in values if value != getattr(base, name)] for name, values in grid.items()
    }


def one_by_one(grid: Grid, name: str, best: RecursionOptions) -> list[RecursionOptions]:
    """Return the options that differ from `best` in one field alone."""
    return [_replaced(best, {name: value}) for value in grid[name]]


def whole(grid: Grid, base: RecursionOptions) -> Iterator[RecursionOptions]:
    """Yield every combination of a grid's values, those of `base` among them, but for `base` itself."""
    columns = [dict.fromkeys((getattr(base, name), *values)) for name, values in grid.items()]
    for values in product(*columns):
        options = _replaced(base, dict(zip(grid, values, strict=True)))
        if options != base:
            yield options


def count_points(grid: Grid, *, full: bool) -> int:
    """Return how many points a search of the grid has, besides the default."""
    return sum(1 for _ in whole(grid, DEFAULT)) if full else sum(map(len, grid.values()))


def check_grid(grid: Grid) -> None:
    """Raise `UserError` for a name that is no parameter, and for values that are no list or that it cannot have."""
    known = [each.name for each in fields(RecursionOptions)]
    for name, values in grid.items():
        if name not in known:
            raise UserError(f"tune: there is no option {name!r}", fix=f"one of {', '.join(known)}")
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise UserError(f"tune: the values of {name} are {values!r}", fix="a list of values to try")
        one_by_one(grid, name, DEFAULT)


def _replaced(base: RecursionOptions, changes: dict[str, Any]) -> RecursionOptions:
    return replace(base, **changes)


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
