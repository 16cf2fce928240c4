"""Policies of load balancing: orders of a parallel loop's iterations by their work, and shares of equal work.

Each takes `work`, the cost of each iteration, and returns a new int32 array: a permutation for `remap_iterations`, or
where the shares of `balance_shares` begin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragged.errors import DataError


def longest_first(work: NDArray[Any]) -> NDArray[np.int32]:
    """Return the iterations by decreasing work; equal ones keep their order.

    Raises:
        DataError: `work` has not one dimension.

    Example::

        longest_first(np.array([3, 9, 9, 1]))  # [1, 2, 0, 3]
    """
    return np.argsort(-_checked(work), kind="stable").astype(np.int32)


def dealt(work: NDArray[Any], workers: int) -> NDArray[np.int32]:
    """Return an order in which the contiguous shares of workers, of as many iterations each, have about equal work.

    Iterations are dealt out by decreasing work, in a serpentine order: to the workers from the first to the last, then
    back, and so on. The least ones that are left go to the workers with `(w + 1) * n // workers - w * n // workers`
    iterations that miss one. A share keeps their order. Shares of one size differ by the largest iteration at most.

    Raises:
        DataError: `work` has not one dimension, or there is no worker.

    Example::

        dealt(np.array([8, 1, 7, 2]), 2)  # [0, 1, 2, 3]: 9 and 9
    """
    _check_workers("dealt", workers)
    rows = _checked(work)
    rounds, rest = divmod(len(rows), workers)
    turns = np.arange(rounds * workers, dtype=np.int32).reshape(rounds, workers) % workers
    turns[1::2] = turns[1::2, ::-1]
    sizes = np.diff(np.arange(workers + 1) * len(rows) // workers)
    missing = np.flatnonzero(sizes > rounds)
    assert len(missing) == rest, "a share has one iteration more than another at most"
    owner = np.empty(len(rows), np.int32)
    owner[longest_first(rows)] = np.concatenate((turns.reshape(-1), missing.astype(np.int32)))
    return np.argsort(owner, kind="stable").astype(np.int32)


def share_begins(work: NDArray[Any], shares: int) -> NDArray[np.int32]:
    """Return where each of `shares` contiguous shares of about equal work begins, and where the last one ends.

    A share begins at the iteration at which the work before it is nearest to its part of all work: it has at most one
    iteration's work more than the mean. Iterations without any work are shared out by number.

    Raises:
        DataError: `work` has not one dimension, or there is no share.

    Example::

        share_begins(np.array([9, 4, 3, 2]), 2)  # [0, 1, 4]: 9 and 9
    """
    _check_workers("share_begins", shares)
    before = np.concatenate(([0.0], np.cumsum(_checked(work))))
    count = len(before) - 1
    parts = np.arange(shares + 1)
    if before[-1] <= 0:
        return np.asarray(parts * count // shares, np.int32)
    wanted = before[-1] * (parts / shares)
    above = np.minimum(np.searchsorted(before, wanted), count)
    below = np.maximum(above - 1, 0)
    found = np.where(wanted - before[below] < before[above] - wanted, below, above)
    found[0], found[-1] = 0, count
    return np.asarray(found, np.int32)


def _checked(work: NDArray[Any]) -> NDArray[np.float64]:
    if work.ndim != 1:
        raise DataError(f"an order of iterations: 'work' has {work.ndim} dimensions", fix="a number for each")
    return work.astype(np.float64)


def _check_workers(what: str, workers: int) -> None:
    if workers < 1:
        raise DataError(f"{what}: there are {workers} workers", fix="one or more")
