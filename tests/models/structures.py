"""Random structures: as rows of children with payloads, and as the `Node`s that users make of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from cortex.linearize import Node


@dataclass(frozen=True)
class Drawn:
    """`children` in rows of post-order, each row's payloads, and the root of the same structure."""

    children: list[list[int]] | list[list[int | None]]
    payload: dict[str, list[object]]

    @property
    def root(self) -> Node:
        return self.nodes()[-1]

    def nodes(self) -> list[Node]:
        nodes: list[Node] = []
        for row, below in enumerate(self.children):
            root = row == len(self.children) - 1  # it names each payload, if only as None
            carried = {
                name: values[row] for name, values in self.payload.items() if root or values[row] is not None
            }
            nodes.append(Node([None if k is None else nodes[k] for k in below], **carried))
        return nodes


def in_rows(shape: object) -> list[list[int]]:
    """Rows of children of a nested list, in post-order."""
    children: list[list[int]] = []

    def visit(part: object) -> int:
        below = [visit(child) for child in part] if isinstance(part, list | tuple) else []
        children.append(below)
        return len(children) - 1

    visit(shape)
    return children


def chain(length: int) -> list[list[int]]:
    return [[row - 1] if row else [] for row in range(length)]


def large_tree(nodes: int, most: int | None, seed: int) -> list[list[int]]:
    """Rows of a random tree of at least so many nodes, each with at most `most` children."""
    rng = np.random.default_rng(seed)
    children: list[list[int]] = []
    free: list[list[int]] = [[]]  # for each open node its children so far

    while free:
        grows = len(children) + len(free) < nodes and len(free) < 200
        if grows and len(free[-1]) < (most or 6) and (rng.integers(3) or len(free) == 1):
            free.append([])
            continue
        children.append(free.pop())
        if free:
            free[-1].append(len(children) - 1)
    return children


def grid(height: int, width: int) -> list[list[int]]:
    """Rows of the papers' grid: (i, j) with predecessors (i-1, j), (i, j-1) and (i-1, j-1), in post-order."""
    steps = ((1, 0), (0, 1), (1, 1))
    return in_post_order(
        [
            [(i - a) * width + j - b for a, b in steps if i >= a and j >= b]
            for i in range(height)
            for j in range(width)
        ]
    )


def with_holes(children: list[list[int]], most: int, seed: int) -> list[list[int | None]]:
    """The same tree with children moved to higher positions here and there, None where they were."""
    rng = np.random.default_rng(seed)
    return [
        [*([None] * int(rng.integers(0, most - len(below) + 1)) if below else []), *below]
        for below in children
    ]


BINARY = st.recursive(st.none(), lambda part: st.tuples(part, part), max_leaves=12).map(in_rows)
CHAIN = st.integers(1, 12).map(chain)
ANY_TREE = st.recursive(st.none(), lambda part: st.lists(part, min_size=1, max_size=4), max_leaves=12).map(
    in_rows
)


@st.composite
def sparse(draw: st.DrawFn, arity: int) -> list[list[int | None]]:
    """Rows of children of a tree of at most `arity` children, some of them missing before others."""
    shape = st.recursive(
        st.just([]), lambda part: st.lists(st.none() | part, min_size=1, max_size=arity), max_leaves=12
    )
    children: list[list[int | None]] = []

    def visit(part: list[object]) -> int:
        below = [visit(child) if isinstance(child, list) else None for child in part]
        children.append(below)
        return len(children) - 1

    visit(draw(shape))
    return children


@st.composite
def dags(draw: st.DrawFn) -> list[list[int]]:
    """Rows of children of a DAG of one root: each node but the root is a child of a later one."""
    size = draw(st.integers(1, 8))
    children: list[list[int]] = [
        draw(st.lists(st.integers(0, row - 1), max_size=3, unique=True)) if row else [] for row in range(size)
    ]
    for row in range(size - 1):
        if all(row not in below for below in children):
            children[-1].append(row)
    return children


def in_post_order(children: list[list[int]]) -> list[list[int]]:
    """The same graph in rows of post-order: what the last node reaches, each at its first visit."""
    row: dict[int, int] = {}
    order: list[int] = []

    def visit(node: int) -> None:
        for below in children[node]:
            if below not in row:
                visit(below)
        row[node] = len(order)
        order.append(node)

    visit(len(children) - 1)
    return [[row[below] for below in children[node]] for node in order]


def words(
    children: Sequence[Sequence[int]], vocab: int, seed: int, *, leaves_only: bool = False
) -> list[object]:
    """A word for each row, sometimes none; with `leaves_only`, one for each leaf."""
    rng = np.random.default_rng(seed)
    if leaves_only:
        return [int(rng.integers(vocab)) if not below else None for below in children]
    return [int(word) if (word := rng.integers(-1, vocab)) >= 0 else None for _ in children]


def vectors(children: Sequence[Sequence[int]], width: int, seed: int) -> list[object]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(width).astype(np.float32) for _ in children]
