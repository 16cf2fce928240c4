"""A measured search over options of an operator, for the arguments of a call."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.errors import UserError
from ragged.machine import this_machine
from ragged.ops.compiled import forget, used_functions
from ragged.ops.module import Module
from ragged.ops.stack import TransformerEncoder
from ragged.tuning import Tuning
from ragged.tuning.bits import bits_of
from ragged.tuning.calls import shapes_text
from ragged.tuning.contest import TunedKernel
from ragged.tuning.records import key_of_text
from ragged.tuning.run import MeasuredSearch
from ragged.tuning.space import Grid, Space, default_space
from ragged.tuning.strategies import StrategyLike
from ragged.tuning.subject import SameBits, median_ns

Call: TypeAlias = Callable[[], object]


def tune(
    operator: Callable[..., Any],
    /,
    *args: object,
    seconds: float = 60.0,
    strategy: StrategyLike = "genetic",
    space: Grid | None = None,
    records: str | os.PathLike[str] | None = None,
    **arguments: Any,
) -> Tuning[ScheduleOptions]:
    """Look for options that make an operator or a layer faster for calls with arguments like these.

    Points are compiled and timed one after another, whole calls in turns with the default schedule's. `best` is what
    the operator takes as `options`, and a layer's `with_options`. The rest is as `ragged.tune` says.

    Args:
        operator: a function of this package, or a layer with its parameters.
        args: the arguments of the call to time.
        seconds: the duration of the search.
        strategy: as for `ragged.tune`.
        space: as for `ragged.tune`.
        records: as for `ragged.tune`.
        arguments: arguments of the call by name, `threads` and `precision` among them.

    Raises:
        UserError: as for `ragged.tune`; or the operator is called with `schedule=None`.
        DataError, ModelError: as a call does.

    Example::

        found = ragged.ops.tune(ragged.ops.softmax, x, axis=1, seconds=10)
        y = ragged.ops.softmax(x, axis=1, options=found.best)
    """

    def call_with(options: ScheduleOptions) -> Call:
        if isinstance(operator, Module | TransformerEncoder):
            layer: Any = operator.with_options(options)
            return partial(layer, *args, **arguments)
        return partial(operator, *args, options=options, **arguments)

    subject = _OperatorSubject(call_with)
    points = Space.of(default_space(this_machine()) if space is None else space, DEFAULT)
    default = subject.compile(DEFAULT)
    given = {str(place): value for place, value in enumerate(args)} | arguments
    key = key_of_text(default.loops, subject.workers, shapes_text([given]))
    try:
        search = MeasuredSearch(subject, points, strategy, 0, records, key, lambda: None)
        return search.run(seconds, "ragged")
    finally:
        subject.forget_points()


class _OperatorSubject(SameBits):
    """Calls of an operator, which `call_with` returns for options; `name` and `workers` are of what they run."""

    name = ""
    workers = 1

    def __init__(self, call_with: Callable[[ScheduleOptions], Call]) -> None:
        self._call_with = call_with
        self._points: set[ScheduleOptions] = set()

    def compile(self, options: ScheduleOptions) -> TunedKernel[ScheduleOptions]:
        """See `Subject`."""
        self._points.add(options)
        call = self._call_with(options)
        with used_functions() as used:
            answers = bits_of(call())
        if not used:
            raise UserError(
                "ragged.ops.tune: what is called is no operator", fix="tune(ragged.ops.softmax, x)"
            )
        self.name, self.workers = used[0].signature.name, used[0].workers
        loops = "\n".join(each.show("loops") for each in used)
        return TunedKernel(options, loops, answers, lambda: [median_ns(call)])

    def forget_points(self) -> None:
        """Keep no functions of points but the default's."""
        for options in self._points - {DEFAULT}:
            forget(options)
