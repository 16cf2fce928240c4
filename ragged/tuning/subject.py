"""A ragged program as the subject of a search: points compiled, results compared bit by bit, calls timed."""

from __future__ import annotations

import gc
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from time import perf_counter_ns
from typing import Any

from ragged.api.compile import find_or_generate, recipe_of
from ragged.api.compile_options import CompileOptions
from ragged.api.function import RaggedFunction
from ragged.api.schedule import RaggedSchedule
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.compiled.key import Recipe
from ragged.compiled.parts import CompiledParts
from ragged.errors import InternalError
from ragged.ir.program import Program
from ragged.runtime.team import check_workers
from ragged.tuning.bits import bits_of
from ragged.tuning.compile_ahead import CompileAhead
from ragged.tuning.contest import Subject, TunedKernel

_CALLS = 3
"""Timed calls of a round, after one to warm up; the median counts."""


class SameBits(Subject[ScheduleOptions]):
    """What is compiled with options of the default schedule, none of which may change a bit of a result."""

    @property
    def default(self) -> ScheduleOptions:
        """See `Subject`."""
        return DEFAULT

    def disagreement(self, options: ScheduleOptions, answers: Any, expected: Any) -> str | None:
        """See `Subject`."""
        if answers != expected:
            raise InternalError(f"tune: {options!r} changes the bits of {self.name}", because="no option may")
        return None

    @property
    @abstractmethod
    def name(self) -> str:
        """What errors call it."""


class RaggedSubject(SameBits):
    """A program with its parameters and the calls that are timed; `ahead` compiles points in parallel."""

    def __init__(
        self,
        schedule: RaggedSchedule,
        params: Mapping[str, object],
        options: CompileOptions,
        threads: int | None,
        *,
        cache: bool,
        ahead: CompileAhead | None = None,
    ) -> None:
        self._schedule, self._params, self._options = schedule, params, options
        self._threads, self._workers = threads, check_workers(threads)
        self._cache, self._ahead = cache, ahead
        self._calls: Sequence[Mapping[str, object]] = ()

    @property
    def name(self) -> str:
        """See `SameBits`."""
        return self._schedule.name

    @property
    def programs(self) -> tuple[Program, ...]:
        """The lowered programs."""
        return self._recipe(DEFAULT)[0].programs

    def set_calls(self, calls: Sequence[Mapping[str, object]], weights: tuple[float, ...]) -> None:
        """Set the arguments of the calls that are timed, and how much each counts."""
        self._calls, self.weights = calls, weights

    def prepare(self, points: Sequence[ScheduleOptions]) -> None:
        """See `Subject`."""
        if self._ahead is not None and len(points) > 1:
            self._ahead([partial(find_or_generate, *self._recipe(each), cache=True) for each in points])

    def compile(self, options: ScheduleOptions) -> TunedKernel[ScheduleOptions]:
        """See `Subject`."""
        recipe, chosen = self._recipe(options)
        kernel = find_or_generate(recipe, chosen, cache=self._cache)
        parts = CompiledParts(kernel, self._schedule.signature, self._threads, self._workers)
        function = RaggedFunction(parts, self._params)
        answers = [bits_of(function(**call)) for call in self._calls]
        calls = [partial(function, **call) for call in self._calls]
        return TunedKernel(options, function.show("loops"), answers, lambda: list(map(median_ns, calls)))

    def _recipe(self, options: ScheduleOptions) -> tuple[Recipe, CompileOptions]:
        chosen = replace(self._options, schedule=options)
        return recipe_of(self._schedule, chosen, "cpu", self._workers), chosen


def median_ns(call: Callable[[], object]) -> float:
    """Return the median nanoseconds of calls. As in `timeit`, no garbage is collected meanwhile."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        call()
        times = []
        for _ in range(_CALLS):
            begin = perf_counter_ns()
            kept = call()
            times.append(perf_counter_ns() - begin)
            del kept
        return median(times)
    finally:
        if enabled:
            gc.enable()
