"""What a random model may say at a place: what is in scope there, and how many children the node is known to have."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from cortex import ra


@dataclass(frozen=True, slots=True)
class Known:
    """A node has `low` to `high` children."""

    low: int = 0
    high: float = math.inf

    def within(self, other: Known) -> bool:
        return other.low <= self.low and self.high <= other.high

    def both(self, low: int, high: float) -> Known:
        """Return what is known if the bounds hold too; where nothing is left, no place is ever reached."""
        narrow = Known(max(self.low, low), min(self.high, high))
        return narrow if narrow.low <= narrow.high else self


ANY = Known()


@dataclass(frozen=True, slots=True)
class Scope:
    """A place in a compute: the node, the indices with their extents, the children bound around it.

    `made` are the expressions made so far that have their variables in scope and a value wherever this place is
    evaluated.
    """

    node: Any
    indices: tuple[tuple[Any, int], ...]
    children: tuple[Any, ...]
    known: Known
    made: list[Any] = field(default_factory=list)

    def given(self, known: Known | None = None) -> Scope:
        return replace(self, known=known or self.known, made=list(self.made))

    def with_index(self, index: Any, extent: int) -> Scope:
        return replace(self, indices=(*self.indices, (index, extent)), made=list(self.made))

    def with_child(self, child: Any) -> Scope:
        known = self.known.both(1, math.inf)
        return replace(self, children=(*self.children, child), known=known, made=list(self.made))


def handles(scope: Scope, most: int | None, kind: str) -> list[Any]:
    """Return the nodes that may be read at: the node itself, children bound around, children by position."""
    if kind == "dag":
        by_position = int(min(2, scope.known.low))
    elif kind == "any" or most is None:
        by_position = 0
    elif kind == "binary":
        by_position = 2 if scope.known.low >= 1 else 0
    else:
        by_position = min(most, scope.known.low)
    return [scope.node, *scope.children, *(scope.node.child(j) for j in range(by_position))]


def conditions(draw: st.DrawFn, n: Any, known: Known, depth: int = 1) -> tuple[Any, Known, Known]:
    """Draw a condition on the structure, with what is known where it holds and where it does not."""
    count = draw(st.integers(0, 3))
    match draw(st.integers(0, 8 if depth else 5)):
        case 0 | 1:
            return ra.isleaf(n), known.both(0, 0), known.both(1, math.inf)
        case 2:
            other = known.both(count + 1, math.inf) if known.low == count else known
            return ra.num_children(n) == count, known.both(count, count), other
        case 3:
            return ra.num_children(n) >= count, known.both(count, math.inf), known.both(0, count - 1)
        case 4:
            return count < ra.num_children(n), known.both(count + 1, math.inf), known.both(0, count)
        case 5:
            return ra.num_children(n) != count, known, known.both(count, count)
        case 6:
            inner, holds, fails = conditions(draw, n, known, depth - 1)
            return ~inner, fails, holds
        case 7:
            first, holds, _ = conditions(draw, n, known, depth - 1)
            second, both, _ = conditions(draw, n, holds, depth - 1)
            return first & second, both, known
        case _:
            first, _, fails = conditions(draw, n, known, depth - 1)
            second, _, neither = conditions(draw, n, fails, depth - 1)
            return first | second, known, neither
