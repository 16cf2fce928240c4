"""Categories: which candidates to keep for which rows, chosen together for predicted time and bytes of code.

DietCode, section 4.3. Its objective, G = g(Perf, BinarySize), is here `loss + price * code bytes` for a range of
prices: each gives one cover of all row counts by ranges, each range with one candidate, and together they are the
trade-off curve. The ranges follow one another, so that every row count has one variant, in the stated range or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, inf

import numpy as np
import numpy.typing as npt

from ragged.auto.cost import Product, predicted_ns
from ragged.auto.microkernel import Candidate, MicroKernel, Remainder
from ragged.machine import Machine

Weights = Mapping[int, float]
"""How often each number of rows occurs."""

Matrix = npt.NDArray[np.float64]

CODE_BYTES, SMALL_CODE_BYTES = 24_000, 6_000
"""The most bytes of code where none are stated: for stated shapes, and otherwise, as more of it compiles longer."""
MOST_VARIANTS = 4
ENOUGH = 0.01
"""A loss that is not worth more code: 1 % in the geometric mean."""
_GAIN = 0.002
"""The least relative gain between points of the trade-off curve: smaller ones are below the accuracy of predictions."""
_PRICES = (0.0, *(2.0**power for power in range(-16, 5)))
"""Prices of a KiB of code, in units of the loss."""
NEVER_NS = 1e30
_MOST_BOUNDS = 28
_UNROLLED_BYTES = 150 * 8
"""The most bytes of a loop that LLVM unrolls over two tiles: 150 instructions."""
_MOST_COUNTS = 256
"""The most row counts that are planned for: predicting a time for each of thousands takes seconds."""
_GOLDEN = (5**0.5 - 1) / 2
_USUAL = (*range(1, 17), 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 160, 192, 256, 384, 512, 768, 1024)
"""Row counts that are planned for where no shapes are stated."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One branch of a dispatched loop: its candidate is for fewer rows than `below`, which None leaves open."""

    below: int | None
    candidate: Candidate

    def code_bytes(self, machine: Machine) -> int:
        """Return the bytes of its code; a compiler unrolls a short loop over at most two tiles."""
        code_bytes = self.candidate.code_bytes(machine)
        most = None if self.below is None else self.below - 1
        rows = self.candidate.kernel.rows
        two_tiles = most is not None and self.candidate.least_rows > 1 and rows < most <= 2 * rows
        return 2 * code_bytes if two_tiles and 2 * code_bytes <= _UNROLLED_BYTES else code_bytes

    def __str__(self) -> str:
        return str(self.candidate) if self.below is None else f"below {self.below} rows {self.candidate}"


@dataclass(frozen=True, slots=True)
class Cover:
    """Variants for all row counts, in ascending order, their bytes of code, and their predicted loss.

    `loss` is the geometric mean over the planned row counts of the predicted time, as a multiple of the best
    candidate's for each.
    """

    variants: tuple[Variant, ...]
    code_bytes: int
    loss: float

    def at(self, rows: int) -> Variant:
        """Return the variant for so many rows."""
        return next(each for each in self.variants if each.below is None or rows < each.below)


def usual_rows() -> Weights:
    """Return the row counts that are planned for where no shapes are stated: about as many in each octave."""
    return dict.fromkeys(_USUAL, 1.0)


def representative_rows(rows: Weights) -> Weights:
    """Return at most 256 of many row counts: one of each group of neighbours, with the weight of all of them.

    Multiples of the golden ratio say which, so that remainders of any tile are as frequent as among all row counts.
    """
    counts = sorted(rows)
    if len(counts) <= _MOST_COUNTS:
        return rows
    ends = [len(counts) * group // _MOST_COUNTS for group in range(_MOST_COUNTS + 1)]
    found = {}
    for group, (low, high) in enumerate(pairwise(ends)):
        place = low + int((high - low) * (group * _GOLDEN % 1))
        found[counts[place]] = sum(rows[count] for count in counts[low:high])
    return found


def covers(
    machine: Machine,
    candidates: Sequence[Candidate],
    products: Sequence[Product],
    rows: Weights,
    best: Mapping[int, float],
    most: int = MOST_VARIANTS,
) -> list[Cover]:
    """Return the trade-off curve of covers by these candidates, from the fewest bytes to the least loss.

    `best` is the time that losses are multiples of, by row count.
    """
    counts = sorted(count for count, weight in rows.items() if count > 0 and weight > 0)
    weights = np.array([rows[count] for count in counts], np.float64)
    times = times_of(machine, candidates, products, counts)
    least = np.array([best[count] for count in counts])
    losses = np.log(times / least) * (weights / weights.sum())
    code = [candidate.code_bytes(machine) for candidate in candidates]
    found = []
    for price in _PRICES:
        for pieces in _cheapest(losses, np.array(code) * (price / 1024), counts, most):
            loss = sum(losses[index, low:high].sum() for low, high, index in pieces)
            ranges = [(counts[low], candidates[index]) for low, _, index in pieces]
            found.append(cover_of(machine, ranges, exp(loss)))
    return curve(found)


def stated_cover(machine: Machine, candidate: Candidate) -> Cover:
    """Return the cover of one candidate for all row counts, with exact tiles for those that it cannot compute."""
    variants = [Variant(None, candidate)]
    if candidate.least_rows > 1:
        fewer = MicroKernel(candidate.least_rows - 1, candidate.kernel.vectors)
        variants.insert(0, Variant(candidate.least_rows, Candidate(fewer, Remainder.EXACT)))
    return Cover(tuple(variants), sum(each.code_bytes(machine) for each in variants), 1.0)


def curve(found: Iterable[Cover]) -> list[Cover]:
    """Return the covers that lose less than all of fewer bytes, by 0.2 % at least, from the fewest bytes on."""
    kept: list[Cover] = []
    least = inf
    for each in sorted(found, key=lambda each: (each.code_bytes, each.loss, len(each.variants))):
        if each.loss < least * (1 - _GAIN):
            kept.append(each)
            least = each.loss
    return kept


def fitting(points: Sequence[Cover], code_bytes: int) -> list[Cover]:
    """Return the covers within a budget, or the smallest one if none is."""
    return [each for each in points if each.code_bytes <= code_bytes] or [points[0]]


def best_times(
    machine: Machine, spaces: Iterable[tuple[Sequence[Candidate], Sequence[Product]]], rows: Weights
) -> dict[int, float]:
    """Return the time of the best candidate of any space, each for its own products, by row count."""
    counts = sorted(rows)
    least = [times_of(machine, each, products, counts).min(axis=0) for each, products in spaces if each]
    return dict(zip(counts, np.min(least, axis=0).tolist(), strict=True))


def times_of(
    machine: Machine, candidates: Sequence[Candidate], products: Sequence[Product], counts: Sequence[int]
) -> Matrix:
    """Return the predicted time of each candidate (a row) at each row count (a column), in nanoseconds.

    A candidate that cannot compute so few rows takes `NEVER_NS`.
    """
    times = [
        [
            sum(predicted_ns(machine, each, count, product) for product in products)
            if count >= each.least_rows
            else NEVER_NS
            for count in counts
        ]
        for each in candidates
    ]
    return np.array(times, np.float64)


Pieces = list[tuple[int, int, int]]
"""Ranges of places in the row counts (low, high) and the candidate of each."""


def _cheapest(losses: Matrix, prices: Matrix, counts: Sequence[int], most: int) -> Iterator[Pieces]:
    """Yield for each number of variants the ranges and candidates of the least sum of losses and prices."""
    bounds = _bounds(counts)
    sums = np.concatenate([np.zeros((len(losses), 1)), np.cumsum(losses, axis=1)], axis=1)[:, bounds]
    size = len(bounds)
    cost = np.full((size, size), inf)
    chosen = np.zeros((size, size), np.int64)
    for low in range(size - 1):
        ranges = sums[:, low + 1 :] - sums[:, [low]] + prices[:, None]
        chosen[low, low + 1 :] = ranges.argmin(axis=0)
        cost[low, low + 1 :] = ranges.min(axis=0)
    reached = cost[0]
    path: list[npt.NDArray[np.int64]] = []
    for count in range(1, most + 1):
        pieces: Pieces = []
        high = size - 1
        for step in reversed(path):
            pieces.append((bounds[step[high]], bounds[high], int(chosen[step[high], high])))
            high = int(step[high])
        pieces.append((0, bounds[high], int(chosen[0, high])))
        yield pieces[::-1]
        if count < min(most, size - 1):
            total = reached[:, None] + cost
            path.append(total.argmin(axis=0))
            reached = total.min(axis=0)
        else:
            return


def _bounds(counts: Sequence[int]) -> list[int]:
    """Return the places where a range may begin or end: all among a few row counts, or about evenly in octaves."""
    if len(counts) <= _MOST_BOUNDS:
        return list(range(len(counts) + 1))
    wanted = np.geomspace(counts[0], counts[-1], _MOST_BOUNDS)
    inner = {int(np.searchsorted(counts, each)) for each in wanted}
    return sorted({0, *inner, *range(8), len(counts)})


def cover_of(machine: Machine, ranges: Sequence[tuple[int, Candidate]], loss: float) -> Cover:
    """Return the cover of ranges, each by its first row count and candidate; neighbours with the same one are one.

    A range begins no earlier than its candidate can compute so few rows; before the first such one, rows are computed
    one by one.
    """
    merged: list[tuple[int, Candidate]] = []
    for low, candidate in ranges:
        begin = max(low, candidate.least_rows) if merged else low
        while merged and merged[-1][0] >= begin:
            merged.pop()
        if not merged or merged[-1][1] != candidate:
            merged.append((begin, candidate))
    first = merged[0][1]
    if first.least_rows > 1:
        single = Candidate(replace(first.kernel, rows=1), Remainder.EXACT)
        merged = [(0, single), (first.least_rows, first), *merged[1:]]
    ends = [low for low, _ in merged[1:]]
    variants = tuple(Variant(end, each) for (_, each), end in zip(merged, [*ends, None], strict=True))
    return Cover(variants, sum(each.code_bytes(machine) for each in variants), loss)
