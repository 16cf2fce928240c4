"""Repeated timings and their statistics."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Spread:
    """Repeated timings, in microseconds: the median, and the 10th and 90th percentile."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.1f} us ({self.low:.1f} to {self.high:.1f})"


def spread(action: Callable[[], object], repeats: int) -> Spread:
    """Return the time of `action`, over `repeats` runs after a warm-up."""
    action()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter_ns()
        action()
        times.append(time.perf_counter_ns() - begin)
    return percentiles(times)


def percentiles(nanoseconds: Sequence[int]) -> Spread:
    """Return the spread of times in nanoseconds."""
    low, median, high = np.percentile(nanoseconds, (10, 50, 90)) / 1000
    return Spread(float(median), float(low), float(high))
