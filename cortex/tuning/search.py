"""`cortex.tune`: compile the points of a grid, compare their results, and time them side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cortex.compiler import Output, compile
from cortex.compiler.options import DEFAULT, RecursionOptions
from cortex.ra.model import Model
from cortex.ra.schedule import RecursionSchedule
from cortex.tuning.answers import disagreement
from cortex.tuning.grid import default_grid
from ragged.errors import UserError
from ragged.tuning.contest import Contest, Subject, TunedKernel
from ragged.tuning.result import Tuning
from ragged.tuning.space import Grid, check_grid, one_by_one, whole

_CALLS = 5
"""Timed calls of a kernel in a round."""


def tune(
    model: Model | RecursionSchedule,
    params: Mapping[str, object],
    trees: object,
    *,
    grid: Grid | None = None,
    full: bool = False,
    seconds: float = 2.0,
    advance: Callable[[], None] = lambda: None,
    **compile_args: Any,
) -> Tuning[RecursionOptions]:
    """Look for options that make a model faster on a batch, and return all that was tried (CORTEX, section 6).

    The parameters of the grid are gone through one after another, each from the best options so far, which makes few
    points of many parameters. All points are compiled, and have to give the default's bits at all nodes; those that
    refactor change orders by name, and have to agree within 1e-5. Then they are timed in turns with the default.

    Args:
        model: what `cortex.compile` takes; the recursion of an `ra.Schedule` is left as it is.
        params: its parameters by name.
        trees: the batch to time, what a call of the function takes. The best for one batch need not be that for
            another one, nor for another machine.
        grid: the values to try, by the name of a field of `cortex.RecursionOptions`; the default is a small grid.
        full: whether to try every combination of the grid's values.
        seconds: for how long to time the values of one parameter, or a full grid; each has five rounds at least.
        advance: called after each point.
        compile_args: what `cortex.compile` takes besides: `threads`, `vocab`, `children`, `cache`.

    Raises:
        UserError: `grid` names what is no parameter, or a value that is none.
        InternalError: a point has other results than the default.

    Example::

        found = cortex.tune(model, params, trees, grid={"slice_vectors": [2, 4], "tile": [(6, 4)]})
        fn = cortex.compile(model, params, options=found.best)
    """
    for name in ("options", "keep"):
        if name in compile_args:
            raise UserError(
                f"tune: {name} is not for its user to say", because="it compares all nodes for all options"
            )
    values = default_grid(model, DEFAULT) if grid is None else grid
    check_grid(values, DEFAULT)
    contest = Contest(_ModelSubject(model, params, trees, compile_args))
    best = DEFAULT
    if full:
        best = contest.best_of(whole(values, DEFAULT), best, seconds, advance)
    else:
        for name in values:
            best = contest.best_of(one_by_one(values, name, best), best, seconds, advance)
    timed = sorted(contest.timed.values(), key=lambda each: each.relative.median)
    return Tuning(best, tuple(timed), tuple(contest.refused.values()), front_end="cortex")


@dataclass(frozen=True, slots=True)
class _ModelSubject(Subject[RecursionOptions]):
    """A model with the batch that is timed; its results are compared at all nodes."""

    model: Model | RecursionSchedule
    params: Mapping[str, object]
    trees: object
    compile_args: Mapping[str, Any]

    @property
    def default(self) -> RecursionOptions:
        """See `Subject`."""
        return DEFAULT

    def compile(self, options: RecursionOptions) -> TunedKernel[RecursionOptions]:
        """See `Subject`."""
        fn = compile(self.model, self.params, options=options, **self.compile_args)
        batch = fn.linearize(self.trees)
        return TunedKernel(
            options,
            fn.show("loops"),
            fn(self.trees),
            lambda: [float(np.median(fn.kernel_times(batch, _CALLS)))],
        )

    def disagreement(self, options: RecursionOptions, answers: Output, expected: Output) -> str | None:
        """See `Subject`."""
        return disagreement(options, answers, DEFAULT, expected)
