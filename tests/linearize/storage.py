"""Where the nodes of a batch are kept: each batch in the first free rows that are enough for it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

MOST_RANGES = 512
"""So many ranges of free rows are remembered, the longest ones: what there is to search for each batch."""


def last_needed(children: Sequence[Sequence[int]], height: Sequence[int], roots: Sequence[int]) -> list[int]:
    """Return for each node the last batch that it is needed in: the one after its own, a parent's, or past all."""
    last = [own + 1 for own in height]
    for parent, below in enumerate(children):
        for child in below:
            last[child] = max(last[child], height[parent])
    for root in roots:
        last[root] = max(height) + 1  # and a root is a node
    return last


def by_use(rows: Sequence[int], last: Sequence[int]) -> list[int]:
    """Return rows sorted by when they are needed last: half of them the latest first, the others the latest last."""
    middle = (len(rows) + 1) // 2
    return sorted(rows[:middle], key=lambda row: -last[row]) + sorted(
        rows[middle:], key=lambda row: last[row]
    )


def storage_begins(
    begin: Sequence[int], length: Sequence[int], last: Sequence[int]
) -> tuple[int, tuple[int, ...]]:
    """Return how many rows it takes, and the first of each batch, of nodes that are numbered batch by batch."""
    held: list[int] = []  # the last batch that each row is needed in
    firsts: list[int] = []
    for batch, (node, count) in enumerate(zip(begin, length, strict=True)):
        ranges = _free_ranges(held, batch)
        ranges.sort(key=lambda range: (range[0] - range[1], range[0]))
        for start, end in ranges[MOST_RANGES:]:  # the shortest, which are forgotten
            held[start:end] = [len(length)] * (end - start)
        first = _room(sorted(ranges[:MOST_RANGES]), len(held), count)
        held.extend([-1] * (first + count - len(held)))
        held[first : first + count] = last[node : node + count]
        firsts.append(first)
    return len(held), tuple(firsts)


def _free_ranges(held: Sequence[int], batch: int) -> list[tuple[int, int]]:
    """Return the begin and end of each range of free rows."""
    ranges: list[tuple[int, int]] = []
    start = 0
    for is_free, group in groupby(until < batch for until in held):
        end = start + len([*group])
        if is_free:
            ranges.append((start, end))
        start = end
    return ranges


def _room(ranges: Sequence[tuple[int, int]], rows: int, count: int) -> int:
    """Return the middle of the first range that is enough; else the first row of one at the end, or the end."""
    for start, end in ranges:
        if end - start >= count:
            return start + (end - start - count) // 2
    return ranges[-1][0] if ranges and ranges[-1][1] == rows else rows
