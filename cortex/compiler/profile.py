"""Where the time of a call goes."""

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


@dataclass(frozen=True, slots=True)
class Profile:
    """The parts of a call, each timed by itself, and the whole of it from the caller's own objects to the result.

    `linearize_us` makes arrays of structures; `prelude_us` checks what the kernel assumes of them; `kernel_us` is the
    kernel alone; `total_us` a call from beginning to end.
    """

    structures: int
    nodes: int
    batches: int
    linearize_us: Spread
    prelude_us: Spread
    kernel_us: Spread
    total_us: Spread

    def __str__(self) -> str:
        return (
            f"{self.structures} structures, {self.nodes} nodes in {self.batches} batches\n"
            f"linearize {self.linearize_us}\nprelude   {self.prelude_us}\n"
            f"kernel    {self.kernel_us}\ntotal     {self.total_us}"
        )


def spread(action: Callable[[], object], repeats: int) -> Spread:
    """Return the time that `action` takes, over `repeats` runs after one that is not counted."""
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
