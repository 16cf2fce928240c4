"""Policies for `remap_iterations`: orders of a parallel loop's iterations by their work.

Each takes `work`, the cost of each iteration, and returns the permutation as a new int32 array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragged.errors import DataError


def longest_first(work: NDArray[Any]) -> NDArray[np.int32]:
    """Return the iterations by decreasing work; equal ones keep their order. For dynamic scheduling.

    Raises:
        DataError: `work` has not one dimension.

    Example::

        longest_first(np.array([3, 9, 9, 1]))  # [1, 2, 0, 3]
    """
    return np.argsort(-_checked(work), kind="stable").astype(np.int32)


def dealt(work: NDArray[Any], workers: int) -> NDArray[np.int32]:
    """Return an order in which the contiguous shares of workers have about equal work.

    The LPT rule: iterations, by decreasing work, go to the worker with the least work that has less than
    `(w + 1) * n // workers - w * n // workers` iterations; a share keeps their order. Takes `n * workers` steps.

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
