"""Flat topology: how it is made, and what is refused on the way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cortex.ilir.plan import Payload, Presence
from cortex.linearize import Forest, Linearized
from ragged.errors import DataError
from ragged.ir.dtype import DType
from tests.linearize.support import BINARY, TREE, carrying, check_against_reference, vector
from tests.support.with_torch import needs_torch, tensor, torch


def test_from_parents_orders_children_by_number():
    forest = Forest.from_parents([4, 4, 0, 0, -1], word=[1, 2, 3, 4, 5])
    assert forest.child_begin.tolist() == [0, 2, 2, 2, 2, 4]
    assert forest.child.tolist() == [2, 3, 0, 1]
    assert repr(forest) == "Forest(5 nodes, 4 edges, word)" and forest.num_nodes == 5


def test_no_nodes():
    for forest in (Forest([0], []), Forest.from_parents([]), Forest([0], [], [0])):
        result = check_against_reference(TREE, [forest, 3])
        assert isinstance(result, Linearized) and result.num_structures == 1


def test_topology_is_shared_and_payloads_too():
    begin, x = np.zeros(4, np.int32), np.zeros((3, 2), np.float32)
    forest = Forest(begin, [], x=x)
    assert forest.child_begin is begin and forest.payloads["x"] is x and forest.structure_begin is None


@pytest.mark.parametrize(
    "x",
    [
        *([[1.0, 2, 3]] * 2, np.ones((3, 2), np.float32).T, np.ones((2, 6), np.float32)[:, ::2]),
        *tensor(lambda torch: torch.ones(2, 3)),
    ],
)
def test_vectors(x):
    result = check_against_reference(carrying(vector()), Forest.from_parents([-1, 0], x=x))
    assert isinstance(result, Linearized) and result.payloads["x"].shape == (2, 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Forest([], []), "Forest: child_begin is empty"),
        (lambda: Forest([0.0, 1.0], [0]), "Forest: child_begin is a 1-D array of dtype float64"),
        (lambda: Forest([[0, 0]], []), "Forest: child_begin is a 2-D array of dtype int64"),
        (lambda: Forest([0, 1], [2**31]), "Forest: child holds numbers outside -1 to 2147483647"),
        (lambda: Forest([0], [], word=3), "Forest: payload `word` is no array"),
        (lambda: Forest.from_parents([-1, 2]), "Forest: the parent of node 1 is 2"),
        (lambda: Forest([0], [], x=[[1, 2], [3]]), "Forest: payload `x` cannot be read as an array"),
        (lambda: Forest.from_parents([[-1], [0, 0]]), "Forest: parents cannot be read as an array"),
        (lambda: Forest.from_edges([[1, 2], [0]]), "Forest.from_edges: edges cannot be read as an array"),
        (
            lambda: Forest.from_parents(np.ma.masked_array([-1, 0], [False, True])),
            "Forest: parents is a masked array of NumPy",
        ),
    ],
)
def test_what_is_no_forest(make, message):
    with pytest.raises(DataError) as refused:
        make()
    assert refused.value.what == message


# Two trees, ((2, 3), 4) and (6, (8, 9)) with these numbers in pre-order.
PARENTS = [-1, 0, 1, 1, 0, -1, 5, 5, 7, 7]
NUMBERINGS = {
    "parents first": range(10),
    "children first": [4, 2, 0, 1, 3, 9, 5, 8, 6, 7],
    "by level": [0, 1, 3, 4, 2, 5, 6, 7, 8, 9],
    "neither": [3, 0, 2, 1, 4, 7, 9, 5, 8, 6],
    "across": [5, 0, 2, 1, 3, 4, 9, 6, 8, 7],
}


def renumbered(order: Sequence[int]) -> list[int]:
    """Return the parents with node v of PARENTS as node order[v]."""
    parents = [-1] * len(order)
    for node, parent in enumerate(PARENTS):
        parents[order[node]] = -1 if parent < 0 else order[parent]
    return parents


@pytest.mark.parametrize("numbering", NUMBERINGS)
@pytest.mark.parametrize("begin", [None, [0, 5, 10]])
def test_any_numbering_is_taken(numbering, begin):
    forest = Forest.from_parents(renumbered(NUMBERINGS[numbering]), begin, word=np.arange(10))
    result = check_against_reference(BINARY, [(1, 2), forest, forest])
    assert isinstance(result, Linearized) is (numbering != "across" or begin is None)


@pytest.mark.parametrize("numbering", ["parents first", "children first"])
@pytest.mark.parametrize("edge", range(8))
@pytest.mark.parametrize("child", [-1, 0, 4, 5, 9])
def test_one_wrong_edge_in_trees_numbered_along_their_edges(numbering, edge, child):
    right = Forest.from_parents(renumbered(NUMBERINGS[numbering]), [0, 5, 10])
    wrong = right.child.copy()
    wrong[edge] = child
    check_against_reference(TREE, Forest(right.child_begin, wrong, [0, 5, 10]))
    check_against_reference(TREE, Forest(right.child_begin, wrong))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("words", [[1, 2, 3], [-1, 2, 3], [1, 2, 10], [1, -1, 3]])
def test_integers_of_all_nodes(dtype, words):
    forest = Forest.from_parents([-1, 0, 0], word=np.array(words).astype(dtype))
    wide = carrying(Payload("word", DType.INT64, (), Presence.LEAVES, -1, (0, 10)))
    for plan in (BINARY, wide):
        check_against_reference(plan, forest)


@needs_torch
def test_edges_as_of_torch_geometric():
    edges = torch.tensor([[2, 1, 4, 5], [0, 0, 3, 4]])  # from children to parents
    batch, words = torch.tensor([0, 0, 0, 1, 1, 1]), np.arange(6)
    up = Forest.from_edges(edges, batch, word=words)
    assert up.child_begin.tolist() == [0, 2, 2, 2, 3, 4, 4] and up.child.tolist() == [2, 1, 4, 5]
    assert up.structure_begin is not None and up.structure_begin.tolist() == [0, 3, 6]
    down = Forest.from_edges(edges.flip(0), batch, edges_to="children", word=words)
    for forest in (up, down):
        result = check_against_reference(TREE, forest)
        assert isinstance(result, Linearized) and result.num_structures == 2
        assert result.payloads["word"][result.rows].tolist() == [2, 1, 0, 5, 4, 3]
    assert Forest.from_edges(edges).num_nodes == 6 and Forest.from_edges(edges).structure_begin is None
    assert Forest.from_edges(np.zeros((2, 0), int), word=[1, 2]).num_nodes == 2
    assert Forest.from_edges(np.zeros((2, 0), int)).num_nodes == 0


@needs_torch
def test_a_payload_that_numpy_cannot_read():
    with pytest.raises(DataError) as caught:
        Forest([0, 0], [], x=torch.ones(1, 3).bfloat16())
    assert str(caught.value) == (
        "Forest: payload `x` cannot be read as an array\n"
        "  because: Got unsupported ScalarType BFloat16\n"
        "  fix: give `tensor.float()`"
    )


def test_a_batch_of_another_length_than_the_payloads():
    with pytest.raises(DataError, match="batch has 3 numbers, and payloads have another number of rows"):
        Forest.from_edges([[0], [1]], [0, 0, 0], word=[1, 2])


@pytest.mark.parametrize("batch", [[-1, 0, 0], [-1, -1, 0], [1, 1, 2], [0, 2, 2], [0, 1, 0]])
def test_structures_are_numbered_from_0_without_a_gap(batch):
    with pytest.raises(
        DataError, match=r"Forest.from_edges: batch\[\d\] is -?\d\n.*numbered from 0 without a gap"
    ):
        Forest.from_edges([[1], [0]], batch, word=[1, 2, 3])
