"""`cortex.tune`: compile the points of a grid, compare their results, and time them side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cortex.compiler import Output, RecursiveFunction, compile
from cortex.compiler.options import DEFAULT, RecursionOptions
from cortex.ra.model import Model
from cortex.ra.schedule import RecursionSchedule
from cortex.tuning.answers import disagreement
from cortex.tuning.grid import Grid, check_grid, default_grid, one_by_one, whole
from cortex.tuning.result import Refused, Timed, Tuning
from cortex.tuning.rounds import Times, take_turns
from ragged.errors import ScheduleError, UserError

CLEARLY = 0.98
"""What a point's time over another's has to be less than, for it to be the better one: less is noise."""


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
) -> Tuning:
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

        found = cortex.tune(model, params, trees, grid={"steps": [2, 4], "tile": [(6, 4)]})
        fn = cortex.compile(model, params, options=found.best)
    """
    for name in ("options", "keep"):
        if name in compile_args:
            raise UserError(
                f"tune: {name} is not for its user to say", because="it compares all nodes for all options"
            )
    values = default_grid(model, DEFAULT) if grid is None else grid
    check_grid(values)
    search = _Search(model, params, trees, seconds, compile_args)
    best = DEFAULT
    if full:
        best = search.best_of(whole(values, DEFAULT), best, advance)
    else:
        for name in values:
            best = search.best_of(one_by_one(values, name, best), best, advance)
    timed = sorted(search.timed.values(), key=lambda each: each.relative.median)
    return Tuning(best, tuple(timed), tuple(search.refused.values()))


@dataclass(slots=True)
class _Search:
    """What has been compiled and timed so far, by its options: the times are a point's, and the default's beside it."""

    model: Model | RecursionSchedule
    params: Mapping[str, object]
    trees: object
    seconds: float
    compile_args: Mapping[str, Any]
    times: dict[RecursionOptions, tuple[Times, Times]] = field(default_factory=dict)
    timed: dict[RecursionOptions, Timed] = field(default_factory=dict)
    refused: dict[RecursionOptions, Refused] = field(default_factory=dict)
    functions: dict[RecursionOptions, RecursiveFunction] = field(default_factory=dict)
    loops: dict[str, RecursionOptions] = field(default_factory=dict)
    expected: Output | None = None

    def best_of(
        self, points: Iterable[RecursionOptions], best: RecursionOptions, advance: Callable[[], None]
    ) -> RecursionOptions:
        """Time points beside the best so far and the default; return the fastest, if it is clearly so."""
        self._function(DEFAULT)
        found = []
        for options in points:
            if self._function(options):
                found.append(options)
            advance()
        group = list(dict.fromkeys((DEFAULT, best, *found)))
        if not found and DEFAULT in self.timed:
            return best
        times = take_turns([self.functions[each] for each in group], self.trees, self.seconds)
        of = dict(zip(group, times, strict=True))
        for options in group:
            own, default = self.times.get(options, (Times(), Times()))
            own, default = self.times[options] = (own + of[options], default + of[DEFAULT])
            self.timed[options] = Timed(options, own.microseconds, own.relative_to(default))
        return _fastest(of, best)

    def _function(self, options: RecursionOptions) -> bool:
        """Compile a point that is new; return whether it has a kernel of its own, with right results."""
        if options in self.functions or options in self.refused:
            return options in self.functions
        try:
            fn = compile(self.model, self.params, options=options, **self.compile_args)
        except ScheduleError as refusal:
            self.refused[options] = Refused(options, refusal.what)
            return False
        same = self.loops.setdefault(fn.show("loops"), options)
        if same is not options:
            text = "the default" if same == DEFAULT else repr(same)
            self.refused[options] = Refused(options, f"the same kernel as {text}")
            return False
        out = fn(self.trees)
        self.expected = self.expected or out
        why = disagreement(options, out, DEFAULT, self.expected)
        if why is not None:
            self.refused[options] = Refused(options, why)
            return False
        self.functions[options] = fn
        return True


def _fastest(times: Mapping[RecursionOptions, Times], best: RecursionOptions) -> RecursionOptions:
    """Return the point that takes least of the best one's time, if that is clearly less."""
    over = {options: each.relative_to(times[best]).median for options, each in times.items()}
    fastest = min(over, key=lambda options: over[options])
    return fastest if over[fastest] < CLEARLY else best
