"""Binary trees level by level, as one writes it in Python for speed: lists are built by comprehensions alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bench.peers.job import Array
from bench.trees import Tree

Index: TypeAlias = npt.NDArray[np.int64]


class Room:
    """Memory for the states of nodes that is kept between calls: rows of one shape, as many as a call has needed.

    With a table its rows come first, so that a leaf that is looked up need not be copied.
    """

    def __init__(self, shape: tuple[int, ...], table: Array | None = None) -> None:
        self._table = np.empty((0, *shape), np.float32) if table is None else table
        self._array = self._table

    def __call__(self, rows: int) -> Array:
        """Return so many rows, the table's among them; all others hold anything."""
        if rows > len(self._array):
            self._array = np.empty((rows + rows // 2, *self._table.shape[1:]), np.float32)
            self._array[: len(self._table)] = self._table
        return self._array[:rows]


@dataclass(frozen=True, slots=True)
class Levels:
    """A batch of trees in which all inner nodes of one depth are computed together, the deepest first.

    States stand in rows: those of leaves first, or a table's in which leaves are looked up; from row `begins[0]` on
    those of inner nodes, by depth: of depth d from `begins[d]` to `begins[d + 1]`. `children` (inner, 2) and `roots`
    are rows; `words` are the leaves'.
    """

    begins: list[int]
    children: Index
    words: Index
    roots: Index

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.begins[-1]

    def upward(self) -> list[tuple[int, int, Index]]:
        """Return begin and end of each depth that has inner nodes, and their children, the deepest first."""
        first, pairs = self.begins[0], zip(self.begins[:-1], self.begins[1:], strict=True)
        found = [
            (begin, end, self.children[begin - first : end - first]) for begin, end in pairs if begin < end
        ]
        return found[::-1]


def level_by_level(trees: Sequence[Tree], table: int | None = None) -> Levels:
    """Return the levels of trees in which every inner node has two children.

    `table` is how many rows the table has in which leaves are looked up, None where each leaf has a row of its own.
    """
    level: Sequence[Tree] = trees
    leaf: list[bool] = []
    words: list[int] = []
    ends = [0]
    while level:
        leaf += [not node.children for node in level]
        words += [node.word for node in level if not node.children]
        inner = [node for node in level if node.children]
        ends.append(ends[-1] + len(inner))
        level = [child for node in inner for child in node.children]
    first = len(words) if table is None else table
    # Of the nodes in this order, each is the next leaf or the next inner node; and after the roots come, two by
    # two, the children of the inner nodes in theirs.
    is_leaf, rows = np.array(leaf), np.empty(len(leaf), np.int64)
    own = np.array(words, np.int64)
    rows[is_leaf] = np.arange(first) if table is None else own
    rows[~is_leaf] = np.arange(first, first + ends[-1])
    count = len(trees)
    return Levels([first + end for end in ends], rows[count:].reshape(-1, 2), own, rows[:count])
