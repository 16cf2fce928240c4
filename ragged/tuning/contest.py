"""Compiled points of a search: compared with the default bit by bit, and timed in turns with it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ragged.auto.options import ScheduleOptions
from ragged.errors import ScheduleError
from ragged.tuning.result import Refused, Timed
from ragged.tuning.rounds import LEAST_ROUNDS, Timer, Times, take_turns

CLEARLY = 0.98
"""The largest ratio of a point's time to another's that counts as faster: smaller differences are noise."""
_HOPELESS = 1.05
"""A point that took so many times the best one's time in its first round is not timed again."""
_SECONDS = 0.05
"""For how long a point is timed, in five rounds at least: many rounds of short kernels."""

O = TypeVar("O", bound=ScheduleOptions)  # noqa: E741


@dataclass(frozen=True, slots=True)
class TunedKernel(Generic[O]):
    """A compiled point: the text of its loops, the results that are compared, and what times one round."""

    options: O
    loops: str
    answers: Any
    time: Timer


class Subject(ABC, Generic[O]):
    """The program of a search: compiles points, and compares their results with the default's."""

    weights: tuple[float, ...] = (1.0,)
    """How much each shape counts."""

    @property
    @abstractmethod
    def default(self) -> O:
        """The point that all others are compared with."""

    @abstractmethod
    def compile(self, options: O) -> TunedKernel[O]:
        """Compile a point; raises `ScheduleError` where there is no such schedule."""

    @abstractmethod
    def disagreement(self, options: O, answers: Any, expected: Any) -> str | None:
        """Return why results cannot stand for the default's, or None; raises `InternalError` for a fault."""

    def prepare(self, points: Sequence[O]) -> None:
        """Compile points beforehand, where it can be done in parallel: `compile` is quick for them afterwards."""
        return


@dataclass(slots=True)
class Contest(Generic[O]):
    """The points compiled and timed so far, by options: times of a point, and of the default in the same rounds."""

    subject: Subject[O]
    timed: dict[O, Timed[O]] = field(default_factory=dict)
    refused: dict[O, Refused[O]] = field(default_factory=dict)
    _times: dict[O, tuple[Times, Times]] = field(default_factory=dict)
    _kernels: dict[O, TunedKernel[O]] = field(default_factory=dict)
    _loops: dict[str, O] = field(default_factory=dict)
    _same: dict[O, O] = field(default_factory=dict)

    def admit(self, options: O) -> bool:
        """Compile a point that is new; return whether it has a kernel of its own, with right results."""
        if options in self._kernels or options in self.refused:
            return options in self._kernels
        try:
            kernel = self.subject.compile(options)
        except ScheduleError as refusal:
            return self._refuse(options, refusal.what)
        same = self._loops.setdefault(kernel.loops, options)
        if same is not options:
            self._same[options] = same
            text = "the default" if same == self.subject.default else repr(same)
            return self._refuse(options, f"the same kernel as {text}")
        expected = self._kernels.get(self.subject.default, kernel).answers
        why = self.subject.disagreement(options, kernel.answers, expected)
        if why is not None:
            return self._refuse(options, why)
        self._kernels[options] = kernel
        return True

    def cost(self, options: O) -> float:
        """Return a point's time over the default's; infinite if it was refused, or was not timed."""
        timed = self.timed.get(self._same.get(options, options))
        return math.inf if timed is None else timed.relative.median

    def confirmed(self, best: O) -> O:
        """Return `best`, if it is faster than the default once more: the fastest of many is so by luck as well."""
        default = self.subject.default
        return default if best == default else self.race([best], default)

    def race(self, points: Sequence[O], best: O) -> O:
        """Time admitted points in turns with `best` and the default; return the fastest, or `best`.

        Points that are clearly slower after one round are timed once.
        """
        first = self._time(self._group(best, points), 0.0, 1)
        hopeful = [each for each in points if self._ratio(first, each, best) < _HOPELESS]
        if not hopeful:
            return best
        group = self._group(best, hopeful)
        more = self._time(group, _SECONDS * len(group), LEAST_ROUNDS - 1)
        return self._fastest({each: first[each] + times for each, times in more.items()}, best)

    def _group(self, best: O, points: Sequence[O]) -> list[O]:
        return list(dict.fromkeys((self.subject.default, best, *points)))

    def _time(self, group: Sequence[O], seconds: float, rounds: int) -> dict[O, Times]:
        found = take_turns([self._kernels[each].time for each in group], seconds, rounds)
        times = dict(zip(group, found, strict=True))
        for options in group:
            own, default = self._times.get(options, (Times(), Times()))
            own, default = own + times[options], default + times[self.subject.default]
            self._times[options] = (own, default)
            relative = own.relative_to(default, self.subject.weights)
            self.timed[options] = Timed(options, own.microseconds, relative)
        return times

    def _fastest(self, times: Mapping[O, Times], best: O) -> O:
        """Return the point that takes least of the best one's time, if that is clearly less."""
        over = {options: self._ratio(times, options, best) for options in times}
        fastest = min(over, key=lambda options: over[options])
        return fastest if over[fastest] < CLEARLY else best

    def _ratio(self, times: Mapping[O, Times], one: O, other: O) -> float:
        return times[one].relative_to(times[other], self.subject.weights).median

    def _refuse(self, options: O, why: str) -> bool:
        self.refused[options] = Refused(options, why, repeats=options in self._same)
        return False
