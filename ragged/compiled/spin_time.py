"""The spin time of a call: how long it waits for sleeping workers, at most what it gains by having them."""

from __future__ import annotations

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
