"""The peers' trees: how they travel, and how they are cut into levels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bench.peers.levels import Room, level_by_level
from bench.trees import Tree, flatten, nodes, number_words, perfect_trees, read_treebank, unflatten
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
    assert [node.word for node in nodes(trees)] == [-1, 0, 0, 1]  # level by level


def test_the_sample_treebank_is_binary():
    trees = read_treebank(sample_treebank())
    assert len(trees) == 300
    assert {len(node.children) for node in nodes(trees)} == {0, 2}


def test_perfect_trees():
    one, two = perfect_trees(2, 7, 1000, seed=0)
    assert len(nodes([one])) == 255
    assert flatten(one) != flatten(two)
