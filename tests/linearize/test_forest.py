"""Flat topology: how it is made, and what is refused on the way."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cortex.linearize import Forest, Linearized
from ragged.errors import DataError
from tests.linearize.support import TREE, carrying, check_against_reference, vector


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
    [[[1.0, 2, 3]] * 2, torch.ones(2, 3), np.ones((3, 2), np.float32).T, np.ones((2, 6), np.float32)[:, ::2]],
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
    ],
)
def test_what_is_no_forest(make, message):
    with pytest.raises(DataError) as refused:
        make()
    assert refused.value.what == message
