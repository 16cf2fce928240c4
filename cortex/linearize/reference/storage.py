"""Where the nodes of a batch are kept: each batch in the first free rows that are enough for it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby


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
        first = _room([until < batch for until in held], count)
        held.extend([-1] * (first + count - len(held)))
        held[first : first + count] = last[node : node + count]
        firsts.append(first)
    return len(held), tuple(firsts)


def _room(free: Sequence[bool], count: int) -> int:
    """Return the middle of the first free rows that are enough; else the first of those at the end, or the end."""
    start = 0
    for is_free, group in groupby(free):
        size = len([*group])
        if is_free and size >= count:
            return start + (size - count) // 2
        start += size
    return start - size if free and free[-1] else start
