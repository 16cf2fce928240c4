"""DietCode's own categories: instances vote for programs, and its cost model for a grid of micro-kernels.

Equations 1 to 5 of the paper, with one repair. Equations 3 to 5 multiply factors of 1 and more that grow with waste,
and call the product a performance that equation 1 maximises; here, as in the released code, performance is divided by
them. `voted_covers` has the signature of `ragged.auto.cover.covers` and can stand in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp

import numpy as np
import numpy.typing as npt

from ragged.auto.cost import Product
from ragged.auto.cover import MOST_VARIANTS, NEVER_NS, Cover, Matrix, Weights, cover_of, curve, times_of
from ragged.auto.microkernel import Candidate
from ragged.machine import Machine

Places = npt.NDArray[np.int64]


def padded(extent: int, multiple: int) -> int:
    """Return the extent filled up to a multiple: the paper's `pad`."""
    return -(-extent // multiple) * multiple


def spatial_factor(micro_kernels: int, cores: int, slope: float = 0.5) -> float:
    """Return f_spatial, equations 4 and 5: 1 for full waves over the cores, more for a wave that leaves some idle.

    `slope` is the paper's k, 0.5 on its GPU; 1 is a machine that waits for the last wave.
    """
    return slope * padded(micro_kernels, cores) / micro_kernels + 1 - slope


def padding_factor(extents: Sequence[int], tile: Sequence[int]) -> float:
    """Return f_pad: the elements computed for each element asked for, where tiles fill up each extent."""
    return float(np.prod([padded(n, t) / n for n, t in zip(extents, tile, strict=True)]))


def performance(
    local: float, extents: Sequence[int], tile: Sequence[int], cores: int, slope: float = 0.5
) -> float:
    """Return equation 3: the predicted throughput of a whole program from that of one wave of its micro-kernel."""
    grid = int(np.prod([padded(n, t) // t for n, t in zip(extents, tile, strict=True)]))
    return local / (spatial_factor(grid, cores, slope) * padding_factor(extents, tile))


def vote(scores: Matrix, weights: Sequence[float], choices: int = 1) -> Places:
    """Return for each instance (a column of `scores`) the program (a row) that it is dispatched to, by equation 1.

    Each instance votes for the `choices` programs that score highest on it; 0 is the score of one that cannot compute
    it. The program with the largest sum of weight times score over its voters takes them as one category; they vote no
    more, and the next one is chosen. An instance that no program can compute is dispatched to none, -1.
    """
    ranks = (-scores).argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    votes = (ranks < choices) & (scores > 0)
    open_instances = votes.any(axis=0)
    chosen = np.full(scores.shape[1], -1, np.int64)
    weighted = scores * np.asarray(weights, np.float64)
    while open_instances.any():
        voters = votes & open_instances
        best = int((weighted * voters).sum(axis=1).argmax())
        chosen[voters[best]] = best
        open_instances &= ~voters[best]
    return chosen


def voted_covers(
    machine: Machine,
    candidates: Sequence[Candidate],
    products: Sequence[Product],
    rows: Weights,
    best: Mapping[int, float],
    most: int = MOST_VARIANTS,
) -> list[Cover]:
    """Return the covers by votes for each number of choices: the points that equation 2 takes the best of.

    The arguments are those of `ragged.auto.cover.covers`; an instance's weight is its operations times how often it
    occurs, its score the throughput. Categories of more than `most` ranges of rows are left out.
    """
    return curve(
        each
        for _, each in voted_by_choices(machine, candidates, products, rows, best)
        if len(each.variants) <= most + 1  # one more for rows that a tile does not fit
    )


def voted_by_choices(
    machine: Machine,
    candidates: Sequence[Candidate],
    products: Sequence[Product],
    rows: Weights,
    best: Mapping[int, float],
) -> Iterator[tuple[int, Cover]]:
    """Yield each number of choices, the paper's k, and the cover by votes for it. Arguments as of `voted_covers`."""
    counts = sorted(count for count, weight in rows.items() if count > 0 and weight > 0)
    operations = np.array([2.0 * count * sum(p.columns * p.depth for p in products) for count in counts])
    weights = operations * [rows[count] for count in counts]
    times = times_of(machine, candidates, products, counts)
    shares = np.array([rows[count] for count in counts]) / sum(rows[count] for count in counts)
    least = np.array([best[count] for count in counts])
    scores = np.where(times < NEVER_NS, operations / times, 0.0)
    fewest = min(range(len(candidates)), key=lambda index: candidates[index].least_rows)
    for choices in range(1, len(candidates) + 1):
        chosen = vote(scores, weights.tolist(), choices)
        chosen[chosen < 0] = fewest  # `cover_of` has rows before its own computed one by one
        loss = exp(float((np.log(times[chosen, range(len(counts))] / least) * shares).sum()))
        ranges = [(count, candidates[index]) for count, index in zip(counts, chosen, strict=True)]
        yield choices, cover_of(machine, ranges, loss)
