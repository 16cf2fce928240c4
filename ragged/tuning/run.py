"""A measured search over a space of options, the same for every front end."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from numbers import Real
from pathlib import Path
from typing import Generic, TypeVar

from ragged.auto.options import ScheduleOptions
from ragged.errors import UserError
from ragged.runtime.cores import usable_cores
from ragged.tuning.contest import Contest, Subject
from ragged.tuning.records import Record, RecordKey, append_record, records_of
from ragged.tuning.result import Tuning
from ragged.tuning.space import Point, Space
from ragged.tuning.strategies import StrategyLike, strategy_of

O = TypeVar("O", bound=ScheduleOptions)  # noqa: E741

_POINTS_PER_CORE = 2
"""Points of a batch that is compiled in parallel and then timed."""


class MeasuredSearch(Generic[O]):
    """A search under way: points are compiled in parallel, timed one after another, and told to a strategy.

    Records of the points are kept in a file and read from it under `key`; `advance` is called after each point.
    """

    def __init__(
        self,
        subject: Subject[O],
        space: Space[O],
        strategy: StrategyLike,
        seed: int,
        records: str | os.PathLike[str] | None,
        key: RecordKey,
        advance: Callable[[], None],
    ) -> None:
        self._contest = Contest(subject)
        self._subject, self._space = subject, space
        self._strategy = strategy_of(strategy, space.extents, seed)
        self._records = None if records is None else Path(records)
        self._key, self._advance = key, advance
        self._best = subject.default

    def run(self, seconds: float, front_end: str) -> Tuning[O]:
        """Search for about so many seconds; the result is for `compile` of the package `front_end`.

        Ctrl-C ends the search and keeps the best so far.

        Raises:
            UserError: `seconds` is no number from 0 up.
            DataError: the file of records is none.
            InternalError: a point has other results than the default.
        """
        _require_duration(seconds)
        batch = _POINTS_PER_CORE * usable_cores()
        end, interrupted = time.monotonic() + seconds, False
        try:
            self._contest.admit(self._subject.default)
            self._try(self._known())
            while time.monotonic() < end and (points := self._strategy.ask(batch)):
                self._try(points)
            self._best = self._contest.confirmed(self._best)
        except KeyboardInterrupt:
            interrupted = True
        timed = sorted(self._contest.timed.values(), key=lambda each: each.relative.median)
        return Tuning(self._best, tuple(timed), tuple(self._contest.refused.values()), interrupted, front_end)

    def _known(self) -> list[Point]:
        """Tell the strategy what records say; return the best of them, which is timed again."""
        if self._records is None:
            return []
        costs = {}
        for options, record in records_of(self._records, self._key, type(self._subject.default)):
            point = self._space.point(options)
            if point is not None:
                self._strategy.tell(point, record.cost)
                costs[point] = record.cost
        fastest = min(costs, key=lambda point: costs[point], default=None)
        return [fastest] if fastest is not None and costs[fastest] < 1 else []

    def _try(self, points: Sequence[Point]) -> None:
        """Compile and time points beside the best so far; tell the strategy, and keep records."""
        found = {self._space.options(point): point for point in points}
        self._subject.prepare(list(found))
        admitted = []
        for options in found:
            if self._contest.admit(options):
                admitted.append(options)
            self._advance()
        self._best = self._contest.race(admitted, self._best)
        for options, point in found.items():
            self._strategy.tell(point, self._contest.cost(options))
            if self._records is not None:
                append_record(self._records, self._record(options))

    def _record(self, options: O) -> Record:
        cost, changed = self._contest.cost(options), options.changed()
        refused, timed = self._contest.refused.get(options), self._contest.timed.get(options)
        return Record(
            self._key,
            changed,
            None if math.isinf(cost) else cost,
            None if timed is None else timed.kernel_us.median,
            None if refused is None else refused.because,
        )


def _require_duration(seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, Real) or not float(seconds) >= 0:
        raise UserError(f"tune: seconds={seconds!r} is no duration", fix="a number of seconds, as 60.0")
