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

    children: list[list[int]]
    payload: dict[str, list[object]]

    @property
    def root(self) -> Node:
        return self.nodes()[-1]

    def nodes(self) -> list[Node]:
        nodes: list[Node] = []
        for row, below in enumerate(self.children):
            carried = {name: values[row] for name, values in self.payload.items() if values[row] is not None}
            nodes.append(Node([nodes[k] for k in below], **carried))
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


BINARY = st.recursive(st.none(), lambda part: st.tuples(part, part), max_leaves=12).map(in_rows)
ANY_TREE = st.recursive(st.none(), lambda part: st.lists(part, min_size=1, max_size=4), max_leaves=12).map(
    in_rows
)


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
