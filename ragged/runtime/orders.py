"""Orders to run a parallel loop's iterations in, made anew for each call: policies for `remap_iterations`.

Each takes `work`, one number for each iteration that says how long it takes (a row's length, or its square), and
returns the permutation as an int32 array of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragged.errors import DataError


def longest_first(work: NDArray[Any]) -> NDArray[np.int32]:
    """Return the iterations by falling work, those with as much in their old order.

    For iterations that are handed out one by one: what is left at the end is short.

    Raises:
        DataError: `work` has not one dimension.

    Example::

        longest_first(np.array([3, 9, 9, 1]))  # [1, 2, 0, 3]
    """
    return np.argsort(-_checked(work), kind="stable").astype(np.int32)


def dealt(work: NDArray[Any], workers: int) -> NDArray[np.int32]:
    """Return an order whose contiguous shares, as `distribute_over_team` makes them, have about equal work.

    Iterations are given, by falling work, to the worker that has least so far of those whose share is not full: the
    rule of the longest processing time. A share has `(w + 1) * n // workers - w * n // workers` iterations; in it they
    keep their old order. Takes `n * workers` steps beside the sorting.

    Raises:
        DataError: `work` has not one dimension, or there is no worker.

    Example::

        dealt(np.array([8, 1, 7, 2]), 2)  # [0, 1, 2, 3]: 9 and 9
    """
    if workers < 1:
        raise DataError(f"dealt: there are {workers} workers", fix="one or more")
    rows = _checked(work)
    bounds = np.arange(workers + 1) * len(rows) // workers
    room, load = np.diff(bounds), np.zeros(workers)
    owner = np.empty(len(rows), np.int32)
    for row in longest_first(rows):
        least = int(np.argmin(np.where(room > 0, load, np.inf)))
        owner[row] = least
        room[least] -= 1
        load[least] += rows[row]
    return np.argsort(owner, kind="stable").astype(np.int32)


def _checked(work: NDArray[Any]) -> NDArray[np.float64]:
    if work.ndim != 1:
        raise DataError(f"an order of iterations: 'work' has {work.ndim} dimensions", fix="a number for each")
    return work.astype(np.float64)
