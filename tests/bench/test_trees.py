"""The peers' trees: how they travel, and how they are cut into levels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.peers.levels import Room, dag_by_height, level_by_level, sequences_by_depth
from bench.trees import (
    Tree,
    flatten,
    grids,
    nodes,
    number_words,
    other_words,
    perfect_trees,
    read_treebank,
    sequences,
    steps,
    ternary_trees,
    unflatten,
)
from cortex.data import sample_treebank

BINARY = st.recursive(
    st.integers(0, 9).map(lambda word: Tree(word=word)),
    lambda inner: st.tuples(inner, inner).map(Tree),
    max_leaves=20,
)


@given(BINARY)
def test_a_tree_travels(tree):
    again = unflatten(flatten(tree))
    assert again is not tree
    assert flatten(again) == flatten(tree)


def test_a_deep_tree_travels():
    tree = Tree(word=3)
    for _ in range(100_000):
        tree = Tree([tree])
    flat = flatten(tree)
    assert flatten(unflatten(flat)) == flat
    # Its end must not recurse either.
    while tree.children:
        (tree,) = tree.children


@given(st.lists(BINARY, min_size=1, max_size=5), st.sampled_from([None, 10]))
def test_levels_hold_each_node_once_and_children_below(trees, table):
    levels = level_by_level(trees, table)
    inner = sum(bool(node.children) for node in nodes(trees))
    first = levels.begins[0]
    assert first == (len(levels.words) if table is None else table)
    assert levels.rows == first + inner
    used = [*levels.children.reshape(-1), *levels.roots]
    assert sorted(row for row in used if row >= first) == list(range(first, levels.rows))
    if table is None:
        assert sorted(used) == list(range(levels.rows))
    done = np.zeros(levels.rows, bool)
    done[:first] = True
    for begin, end, children in levels.upward():
        assert done[children].all()
        done[begin:end] = True
    assert done.all()


@given(st.lists(BINARY, min_size=1, max_size=5), st.booleans())
def test_levels_compute_what_recursion_does(trees, looked_up):
    def recursion(node):
        # An expression that tells left from right.
        return (
            2 * recursion(node.children[0]) - 3 * recursion(node.children[1]) + 1
            if node.children
            else node.word
        )

    levels = level_by_level(trees, 10 if looked_up else None)
    value = np.zeros(levels.rows, object)
    value[: levels.begins[0]] = range(10) if looked_up else levels.words.tolist()
    for begin, end, children in levels.upward():
        left, right = value[children].T
        value[begin:end] = 2 * left - 3 * right + 1
    assert value[levels.roots].tolist() == [recursion(tree) for tree in trees]


def test_room_keeps_its_table():
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    room = Room((2,), table)
    np.testing.assert_array_equal(room(3), table)
    for rows in (5, 4, 50):
        given = room(rows)
        assert given.shape == (rows, 2)
        np.testing.assert_array_equal(given[:3], table)
        given[3:] = 7
    assert Room((4, 4))(2).shape == (2, 4, 4)


def test_words_are_numbered_as_they_come():
    trees = [Tree([Tree(word=7), Tree(word=3)]), Tree(word=7)]
    assert number_words(trees) == 2
    assert [node.word for node in nodes(trees)] == [0, 1, -1, 0]  # children first


def test_the_sample_treebank_is_binary():
    trees = read_treebank(sample_treebank())
    assert len(trees) == 300
    assert {len(node.children) for node in nodes(trees)} == {0, 2}


def test_perfect_trees():
    one, two = perfect_trees(2, 7, 1000, seed=0)
    assert len(nodes([one])) == 255
    assert flatten(one) != flatten(two)


def test_shared_nodes_travel_once_and_carry_their_vectors():
    (grid,) = grids(1, 3, 50, seed=4)
    rows = np.arange(100, dtype=np.float32).reshape(50, 2)
    again = unflatten(flatten(grid), {"x": rows})
    assert len(nodes([again])) == 9
    above, left, between = again.children
    assert between in above.children and between in left.children
    for node in nodes([again]):
        np.testing.assert_array_equal(node.x, rows[node.word])


def test_grids_have_a_corner_for_a_root():
    one, two = grids(2, 10, 1000, seed=0)
    assert [len(nodes([grid])) for grid in (one, two)] == [100, 100]
    assert flatten(one) != flatten(two)
    counts = [len(node.children) for node in nodes([one])]
    assert {count: counts.count(count) for count in set(counts)} == {0: 1, 1: 18, 3: 81}


def test_ternary_trees():
    trees = ternary_trees(20, 7, seed=3)
    for tree in trees:
        inner = [node for node in nodes([tree]) if node.children]
        assert {len(node.children) for node in inner} == {3}
        assert 4 <= len(inner) <= 14
    assert len({len(nodes([tree])) for tree in trees}) > 1
    levels = level_by_level(trees, 7, arity=3)
    assert levels.children.shape == (levels.rows - 7, 3)


def test_other_words_keep_the_shapes():
    trees = perfect_trees(2, 2, 100, seed=0)
    more = other_words(trees, 3, seed=1)
    shapes = [[below for below, _ in flatten(tree)] for tree in (*trees, *more)]
    assert len(more) == 3
    assert shapes[0] == shapes[2] == shapes[4]
    known = {node.word for node in nodes(trees)}
    assert {node.word for node in nodes(more)} <= known
    assert flatten(more[0]) != flatten(trees[0])


def test_dags_compute_what_recursion_does():
    roots = [
        unflatten(flatten(grid), {"x": np.arange(30.0).reshape(10, 3)}) for grid in grids(2, 4, 10, seed=5)
    ]
    levels = dag_by_height(roots, 3, ["x", "x"])
    sums = {}
    for node in nodes(roots):
        sums[id(node)] = node.x + sum(2 * sums[id(child)] for child in node.children)
    value = np.zeros((levels.rows, 3))
    for begin, end, children in levels.upward():
        assert (children < levels.rows).all() and ((children == 0) | (children >= end)).all()
        twice = levels.carried(begin, end)
        np.testing.assert_array_equal(twice[:, :3], twice[:, 3:])
        value[begin:end] = twice[:, :3] + 2 * value[children].sum(axis=1)
    np.testing.assert_array_equal(value[levels.roots], [sums[id(root)] for root in roots])


def test_sequences_are_chains():
    one, two = sequences(2, 100, 1000, seed=0)
    assert flatten(one) != flatten(two)
    first, *later = steps(one)
    assert len(later) == 99
    assert first.children == ()
    assert [step.children for step in later] == [(before,) for before in [first, *later[:-1]]]


@pytest.mark.parametrize("lengths", [(1,), (4,), (3, 3), (2, 5, 1)])
def test_levels_of_sequences_compute_what_a_loop_does(lengths):
    rows = np.arange(30.0).reshape(10, 3)
    roots = [unflatten(flatten(sequences(1, length, 10, seed=length)[0]), {"x": rows}) for length in lengths]
    levels = sequences_by_depth(roots, ["x"])
    value = np.zeros((levels.rows, 3))
    for begin, end, children in levels.upward():
        assert children.shape == (end - begin, 1)
        value[begin:end] = levels.carried(begin, end) + 2 * value[children[:, 0]]
    for root, found in zip(roots, value[levels.roots], strict=True):
        total = np.zeros(3)
        for step in steps(root):
            total = step.x + 2 * total
        np.testing.assert_array_equal(found, total)
