"""Structures level by level, as one writes it in Python for speed: lists are built by comprehensions alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bench.peers.job import SEQUENTIAL, Array, Cell, Job
from bench.trees import Tree, nodes

Index: TypeAlias = npt.NDArray[np.int64]
_TABLES = ("emb", "emb_h", "table_y")
"""Whichever of these a cell has holds the states of leaves by word, except where they are computed."""


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
    """A batch of structures in which all inner nodes of one depth are computed together, the deepest first.

    States stand in rows: those of leaves first, or a table's in which leaves are looked up; from row `begins[0]` on
    those of inner nodes, by depth: of depth d from `begins[d]` to `begins[d + 1]`. `children` (inner, arity) and
    `roots` are rows; `words` are the leaves'. In a DAG all nodes are inner ones, after a row of zeros that stands
    where a node has fewer children; `payload` (inner, ...) is what they carry.
    """

    begins: list[int]
    children: Index
    words: Index
    roots: Index
    payload: Array | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.begins[-1]

    def carried(self, begin: int, end: int) -> Array:
        """Return what the nodes of these rows carry."""
        assert self.payload is not None
        return self.payload[begin - self.begins[0] : end - self.begins[0]]

    def upward(self) -> list[tuple[int, int, Index]]:
        """Return begin and end of each depth that has inner nodes, and their children, the deepest first."""
        first, pairs = self.begins[0], zip(self.begins[:-1], self.begins[1:], strict=True)
        found = [
            (begin, end, self.children[begin - first : end - first]) for begin, end in pairs if begin < end
        ]
        return found[::-1]


def level_by_level(trees: Sequence[Tree], table: int | None = None, arity: int = 2) -> Levels:
    """Return the levels of trees in which every inner node has `arity` children.

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
    # Of the nodes in this order, each is the next leaf or the next inner node; and after the roots come, node by
    # node, the children of the inner nodes in theirs.
    is_leaf, rows = np.array(leaf), np.empty(len(leaf), np.int64)
    own = np.array(words, np.int64)
    rows[is_leaf] = np.arange(first) if table is None else own
    rows[~is_leaf] = np.arange(first, first + ends[-1])
    count = len(trees)
    return Levels([first + end for end in ends], rows[count:].reshape(-1, arity), own, rows[:count])


def dag_by_height(roots: Sequence[Tree], arity: int, names: Sequence[str]) -> Levels:
    """Return the levels of DAGs of nodes that have at most `arity` children and carry vectors by these names.

    The nodes of one height are one level; what a node carries are its vectors one after another.
    """
    order = nodes(roots)
    heights: dict[int, int] = {}
    for node in order:
        heights[id(node)] = 1 + max([heights[id(child)] for child in node.children], default=-1)
    levels: list[list[Tree]] = [[] for _ in range(max(heights.values()) + 1)]
    for node in order:
        levels[heights[id(node)]].append(node)
    from_top = [node for level in reversed(levels) for node in level]
    rows = {id(node): 1 + place for place, node in enumerate(from_top)}
    none = [0] * arity
    children = [([rows[id(child)] for child in node.children] + none)[:arity] for node in from_top]
    sizes = [len(level) for level in reversed(levels)]
    return _after_zeros(from_top, sizes, children, [rows[id(root)] for root in roots], names)


def sequences_by_depth(roots: Sequence[Tree], names: Sequence[str]) -> Levels:
    """Return the levels of sequences of steps that carry vectors by these names: level d is d steps before the last."""
    levels = []
    level: Sequence[Tree] = roots
    while level:
        levels.append(level)
        level = [node.children[0] for node in level if node.children]
    from_end = [node for level in levels for node in level]
    # The steps before come in the order of those that have one.
    before = count(1 + len(roots))
    children = [[next(before) if node.children else 0] for node in from_end]
    return _after_zeros(from_end, list(map(len, levels)), children, range(1, 1 + len(roots)), names)


def _after_zeros(
    order: list[Tree], sizes: list[int], children: list[list[int]], roots: Sequence[int], names: Sequence[str]
) -> Levels:
    """Return levels of these sizes, of nodes in this order that are all inner ones, after the row of zeros."""
    carried = np.concatenate([getattr(node, name) for node in order for name in names])
    return Levels(
        np.cumsum([1, *sizes]).tolist(),
        np.array(children, np.int64),
        np.empty(0, np.int64),
        np.array(roots, np.int64),
        carried.reshape(len(order), -1),
    )


def levels_of(job: Job, *, rows_for_leaves: bool = False) -> Callable[[Sequence[Tree]], Levels]:
    """Return what makes the levels of a job's batches.

    Leaves are looked up in the tables that have their states, unless these are computed or `rows_for_leaves` asks
    for rows of their own.
    """
    if job.cell in SEQUENTIAL:
        return lambda roots: sequences_by_depth(roots, list(job.payloads))
    if job.payloads:
        return lambda roots: dag_by_height(roots, 3, list(job.payloads))
    arity = 3 if job.cell is Cell.TERNARY_LSTM else 2
    table = None
    if job.cell is not Cell.TREE_LSTM and not rows_for_leaves:
        table = next(len(job.params[name]) for name in _TABLES if name in job.params)
    return lambda trees: level_by_level(trees, table, arity)
