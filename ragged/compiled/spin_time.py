"""The spin time of a call: how long it waits for sleeping workers, at most what it gains by having them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

OPERATIONS_PER_NS = 50.0
"""Throughput of one core in a kernel with register tiles."""
_LEAST_NS = 5_000
"""A call that gains less than this runs on one worker: waking others and their barriers cost about as much."""
_BARRIER_NS = 1_500
"""Cost of a batch's barriers and of the cache misses after them; a third where processors share a cache."""
_MOST_NS = 1_000_000
"""A worker that finds a free processor wakes within this time."""
_SHARE = 16
"""On busy processors a worker comes after a scheduler slice or two, some milliseconds: wait gain / 16 for it."""


def spin_time_ns(operations: float, workers: float, barriers: int = 0) -> int:
    """Return the spin time, in nanoseconds, of a call that does `operations`; 0 is to run on one worker.

    `workers` share the operations and pass `barriers` barriers. A sleeping worker takes 50 us and more to wake. Waiting
    no longer than what it saves is at worst twice as slow as the best choice.
    """
    gain = operations / OPERATIONS_PER_NS * (1 - 1 / workers) - barriers * _BARRIER_NS * (workers > 1)
    most = max(_MOST_NS, gain / _SHARE)
    return int(min(gain, most)) * (gain >= _LEAST_NS)  # no branch: all calls do the same


_REMEMBERED = 4096


def spin_time_by_batch(operations: int, threads: int, *, columns: bool) -> Callable[[int, int], int]:
    """Return the spin time of calls of one program, in nanoseconds, as a function of (iterations, batches); it caches.

    `operations` are those of one iteration. `columns` says whether workers share the columns of a batch, of which there
    are enough in any batch, or its iterations.
    """

    @lru_cache(_REMEMBERED)
    def spin_ns(iterations: int, batches: int) -> int:
        workers = threads if columns else max(1.0, min(threads, iterations / max(1, batches)))
        return spin_time_ns(operations * iterations, workers, batches)

    return spin_ns
