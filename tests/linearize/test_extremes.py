"""A million nodes in a chain, a million children of one node: in every kind that can hold them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cortex.linearize import Forest, Linearized, Node, Vocab, linearize
from tests.linearize.support import DAG, SEQUENCE, TREE, check_against_reference

MANY = 1_000_000


def node_chain() -> Node:
    node = Node(word=1)
    for _ in range(MANY - 1):
        node = Node([node])
    return node


def tuple_chain() -> object:
    node: object = 1
    for _ in range(MANY - 1):
        node = (node,)
    return node


CHAINS = {
    "node": node_chain,
    "tuple": tuple_chain,
    "text": lambda: "(1 " * MANY + "w" + ")" * MANY,
    "array": lambda: np.ones(MANY, np.int32),
    "forest": lambda: Forest.from_parents(np.arange(-1, MANY - 1), word=np.zeros(MANY, np.int32)),
}
STARS = {
    "node": lambda: Node([Node(word=1) for _ in range(MANY - 1)]),
    "tuple": lambda: (1,) * (MANY - 1),
    "text": lambda: "(1" + " (2 w)" * (MANY - 1) + ")",
    "forest": lambda: Forest.from_parents(np.r_[-1, np.zeros(MANY - 1, int)], word=np.zeros(MANY, np.int32)),
}


@pytest.mark.parametrize("kind", CHAINS)
def test_a_chain_of_a_million_nodes(kind):
    result = linearize(TREE, CHAINS[kind](), vocab=Vocab(["w"]))
    assert (result.num_nodes, result.num_batches, result.num_inner) == (MANY, MANY, MANY - 1)
    np.testing.assert_array_equal(result.child, np.arange(1, MANY))
    np.testing.assert_array_equal(result.rows, np.arange(MANY)[::-1])


@pytest.mark.parametrize("kind", STARS)
def test_a_star_of_a_million_children(kind):
    result = linearize(TREE, STARS[kind](), vocab=Vocab(["w"]))
    assert (result.num_nodes, result.num_batches, result.num_inner) == (MANY, 2, 1)
    np.testing.assert_array_equal(result.child, np.arange(1, MANY))


def test_a_chain_of_objects_is_a_sequence():
    assert linearize(SEQUENCE, node_chain()).num_batches == MANY


def test_a_fault_at_the_end_of_a_chain_is_found_and_named_shortly():
    node = leaf = Node()
    for _ in range(100_000):
        node = Node([node])
    leaf.children = (node,)
    text = str(check_against_reference(DAG, node))
    assert "is its own ancestor" in text and "99993 more" in text and len(text) < 500


def test_a_batch_of_many_structures():
    result = check_against_reference(TREE, [(1, (2, 3))] * 3000)
    assert isinstance(result, Linearized) and result.num_structures == 3000


@pytest.mark.parametrize(("forest", "rows"), [(CHAINS["forest"], 2), (STARS["forest"], MANY)])
def test_storage_of_a_million_nodes(forest, rows):
    result = linearize(replace(TREE, recycled=True), forest())
    assert result.storage_rows == rows


def scattered(length: int) -> Forest:
    """Return a DAG of which every second node of a chain is needed to the end, and then come pairs."""
    spine = [[i - 1] if i else [] for i in range(length)]
    begin = len(spine)
    spine.append([*range(0, length, 2), length - 1])
    for pair in range(length):
        below = [begin] if pair == 0 else [begin + 2 * pair - 1, begin + 2 * pair]
        spine += [below[:1], below[-1:]]
    spine.append([*range(1, length, 2), len(spine) - 2, len(spine) - 1])
    return Forest(np.cumsum([0, *map(len, spine)]), np.concatenate([np.array(below, int) for below in spine]))


def test_free_rows_that_are_scattered():
    """As many ranges of free rows as there are nodes: to search them all for each batch would take minutes."""
    check_against_reference(replace(DAG, payloads=(), recycled=True), scattered(1200))
    result = linearize(replace(DAG, payloads=(), recycled=True), scattered(200_000))
    assert result.num_nodes == 600_002
    assert 200_000 < result.storage_rows < 200_020


def grids(count: int, side: int) -> Forest:
    """Return grids, each node with those above it, to its left, and between these as its children."""
    below: list[list[int]] = []
    for first in range(0, count * side * side, side * side):
        for place in range(side * side):
            row, column = divmod(place, side)
            near = ((row - 1, column - 1), (row - 1, column), (row, column - 1))
            below.append([first + r * side + c for r, c in near if min(r, c) >= 0])
    return Forest(np.cumsum([0, *map(len, below)]), np.concatenate([np.array(each, int) for each in below]))


def test_rows_of_many_small_batches_are_used_again():
    """A thousand batches in turn free a range each, of which more than 64 are free at a time."""
    result = linearize(replace(DAG, payloads=(), recycled=True, widest=96), grids(1000, 10))
    assert (result.num_batches, result.num_nodes) == (1041, 100_000)
    assert result.storage_rows < 21_000
