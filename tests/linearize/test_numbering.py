"""What the numbers of nodes must satisfy, whatever the structures: said here once more, by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.ilir.classes import Comparison, NodeClass
from cortex.ilir.plan import Plan, StructureKind
from cortex.linearize import Forest, Linearized, Node, linearize
from ragged.ir.ops import BinaryOp
from tests.linearize import strategies
from tests.linearize.support import BINARY, DAG, SEQUENCE, TREE, check_against_reference, word

LENIENT = Plan(StructureKind.DAG, 1, None, (), (0, 1))


def check_invariants(result: Linearized) -> None:
    n, inner = result.num_nodes, result.num_inner
    counts = np.diff(result.child_begin)
    assert (counts[inner:] == 0).all() and (counts[:inner] > 0).all()
    parent = np.repeat(np.arange(n), counts)
    assert (result.child > parent).all()
    height = np.zeros(n, int)
    for p, c in sorted(zip(parent, result.child, strict=True), reverse=True):
        height[p] = max(height[p], height[c] + 1)
    assert (np.diff(height) <= 0).all()
    assert result.batch_begin[0] == inner
    assert result.batch_length.tolist() == np.bincount(height, minlength=1).tolist()
    assert (result.batch_begin[:-1] == result.batch_begin[1:] + result.batch_length[1:]).all()
    assert result.batch_begin[-1] == 0 or n == 0
    assert sorted(result.rows) == list(range(n))
    row = np.empty(n, int)
    row[result.rows] = np.arange(n)
    assert all((np.diff(row[height == h]) > 0).all() for h in set(height))
    assert (row[result.child] < row[parent]).all()
    assert sorted(result.roots) == sorted(set(range(n)) - set(result.child.tolist()))


@given(data=st.data())
def test_invariants(data):
    batch = data.draw(
        st.lists(st.one_of(strategies.objects(LENIENT), strategies.forests(LENIENT)), max_size=4)
    )
    result = check_against_reference(LENIENT, batch)
    if isinstance(result, Linearized):
        check_invariants(result)


WIDTHS = [(widest, n) for widest in (1, 3, 4, 7, 8, 9, 13) for n in (widest, widest + 1, 4 * widest + 3)]


@pytest.mark.parametrize(("widest", "nodes"), [*WIDTHS, (2**70, 5)])
@pytest.mark.parametrize("recycled", [False, True])
def test_heights_of_more_nodes_than_a_batch_has(widest, nodes, recycled):
    """Also with nodes that several have as a child, and with classes, of which every third node is of the other."""
    plan = replace(DAG, widest=widest, recycled=recycled)
    shared = Node(word=9)
    below = [Node([shared, *([Node(word=k % 10)] if k % 3 else [])]) for k in range(nodes)]
    above = [Node([below[k], below[(k + 5) % nodes]]) for k in range(nodes)]
    pairs = Comparison(None, BinaryOp.EQ, 2)
    classes = (NodeClass(True, ()), NodeClass(False, (pairs,)), NodeClass(False, ()))
    for each in (plan, replace(plan, classes=classes)):
        result = check_against_reference(each, above)
        assert isinstance(result, Linearized)
        assert result.widest_nodes <= widest and sum(result.batch_length[1:]) == result.num_inner


def test_a_worked_example():
    result = linearize(BINARY, [((1, 2), 3), 4, (5, 6)])
    #  rows of the first: 1 2 (1, 2) 3 root; heights 0 0 1 0 2
    assert result.rows.tolist() == [3, 4, 1, 5, 0, 6, 7, 8, 2]
    assert (result.num_structures, result.num_nodes, result.num_inner, result.num_edges) == (3, 9, 3, 6)
    assert result.batch_begin.tolist() == [3, 1, 0] and result.batch_length.tolist() == [6, 2, 1]
    assert result.child_begin.tolist() == [0, 2, 4, 6, 6, 6, 6, 6, 6, 6]
    assert result.child.tolist() == [1, 5, 3, 4, 7, 8]
    assert result.left.tolist() == [1, 3, 7] and result.right.tolist() == [5, 4, 8]
    assert result.payloads["word"].tolist() == [-1, -1, -1, 1, 2, 3, 4, 5, 6]
    assert result.roots.tolist() == [0, 6, 2] and result.root_begin.tolist() == [0, 1, 2, 3]
    assert result.row_begin.tolist() == [0, 5, 6, 9]
    assert result.keys == [1, 2, (1, 2), 3, ((1, 2), 3), 4, 5, 6, (5, 6)]


def test_an_empty_batch():
    result = check_against_reference(BINARY, [])
    assert isinstance(result, Linearized)
    assert (result.num_structures, result.num_nodes, result.num_batches) == (0, 0, 1)
    assert result.batch_begin.tolist() == result.batch_length.tolist() == [0]
    assert result.child_begin.tolist() == result.row_begin.tolist() == result.root_begin.tolist() == [0]


def test_one_leaf():
    result = check_against_reference(BINARY, 7)
    assert isinstance(result, Linearized)
    assert result.roots.tolist() == [0] and result.keys == [7]


def test_a_shared_node_is_one_row_in_a_structure_and_one_in_each_structure():
    leaf = Node(word=1)
    twice = Node([leaf, leaf])
    result = check_against_reference(DAG, [twice, leaf, twice])
    assert isinstance(result, Linearized)
    assert np.diff(result.row_begin).tolist() == [2, 1, 2] and result.num_edges == 4


def test_a_dag_has_as_many_roots_as_nodes_without_a_parent():
    forest = Forest([0, 1, 2, 2, 2], [2, 2])
    result = check_against_reference(DAG, [forest, 5])
    assert isinstance(result, Linearized)
    assert result.root_begin.tolist() == [0, 3, 4] and result.keys == [2, 0, 1, 3, 5]


def test_each_tree_of_a_forest_without_ranges_is_a_structure():
    forest = Forest.from_parents([-1, -1, 0, 1, 0], word=[-1, -1, 3, 4, 5])
    result = check_against_reference(TREE, forest)
    assert isinstance(result, Linearized)
    assert result.keys == [2, 4, 0, 3, 1] and result.row_begin.tolist() == [0, 3, 5]


def test_missing_children_keep_the_position_of_others():
    plan = Plan(StructureKind.TREE, 0, 2, (word(),), (0, 1))
    result = check_against_reference(plan, Node([None, Node(word=1)]))
    assert isinstance(result, Linearized)
    assert result.left.tolist() == [-1] and result.right.tolist() == [1]
    assert result.child.tolist() == [1]


def test_a_sequence_goes_from_first_step_to_last():
    result = check_against_reference(SEQUENCE, np.array([4, 5, 6]))
    assert isinstance(result, Linearized)
    assert result.rows.tolist() == [2, 1, 0] and result.payloads["word"].tolist() == [6, 5, 4]


def test_what_was_linearized_is_returned_as_it_is():
    result = linearize(BINARY, (1, 2))
    assert linearize(BINARY, result) is result


def test_a_worked_example_with_classes():
    two, odd = Comparison(None, BinaryOp.EQ, 2), Comparison("word", BinaryOp.GE, 5)
    classes = (
        NodeClass(True, (odd,)),
        NodeClass(True, (Comparison("word", BinaryOp.LT, 3),)),
        NodeClass(False, (two,)),
        NodeClass(False, ()),
    )
    plan = replace(TREE, classes=classes)
    result = check_against_reference(plan, [((1, 2), (5,), 3), 4, (5, 6)])
    assert isinstance(result, Linearized)
    #  heights 1: (1, 2) and (5, 6) of two children before (5,); leaves: 5 5 6, then 1 2 and 3 4, which no class takes
    assert result.payloads["word"].tolist() == [-1, -1, -1, -1, 5, 5, 6, 1, 2, 3, 4]
    assert np.diff(result.child_begin).tolist()[:4] == [3, 2, 2, 1]
    assert result.batch_begin.tolist() == [4, 1, 0] and result.batch_length.tolist() == [7, 3, 1]
    assert [result.arrays[f"class_length_{c}"].tolist() for c in range(3)] == [
        [3, 0, 0],
        [4, 0, 0],
        [0, 2, 0],
    ]
    assert result.rows.tolist() == [7, 8, 1, 4, 3, 9, 0, 10, 5, 6, 2]


def test_a_batch_says_how_much_there_is_and_does_not_list_it():
    batch = linearize(LENIENT, [Node([Node(), Node()])])
    assert repr(batch) == "Linearized(1 structures, 3 nodes, 2 edges, 2 levels)"
