"""Observed shapes: counts of the sizes of calls."""

from __future__ import annotations

from typing import TypeAlias

Sizes: TypeAlias = tuple[tuple[str, int], ...]
"""Sizes by name."""

MOST = 4096
"""The most combinations of sizes that are counted."""


class SizeCounts:
    """How often calls had each combination of sizes; any number of threads may count.

    Of more than `MOST` combinations the half with the fewest calls is forgotten. Threads that count at the same moment
    may count as one.
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[Sizes, int] = {}

    def add(self, sizes: Sizes) -> None:
        """Count a call."""
        counts = self._counts
        before = counts.get(sizes)
        counts[sizes] = 1 if before is None else before + 1
        if before is None and len(counts) > MOST:
            self._forget()

    def most_frequent(self) -> tuple[tuple[Sizes, int], ...]:
        """Return the combinations and their counts, the most frequent first."""
        return tuple(sorted(self._counts.copy().items(), key=lambda item: -item[1]))

    def _forget(self) -> None:
        self._counts = dict(self.most_frequent()[: MOST // 2])
