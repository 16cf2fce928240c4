"""Structures that users have already: networkx graphs, and trees of nltk."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from functools import partial

import networkx
import numpy as np
import pytest
from nltk.tree import ImmutableTree, ParentedTree, Tree

from cortex.ilir.plan import Presence
from cortex.linearize import Linearized, Linearizer, Vocab, linearize
from tests.linearize.strategies import Labelled
from tests.linearize.support import (
    BARE,
    BINARY,
    DAG,
    SEQUENCE,
    TREE,
    assert_same,
    carrying,
    check_against_reference,
    vector,
    word,
)
from tests.support.python_work import calls

VOCAB = Vocab(["a", "long", "film"])
TEXT = "(3 (2 a) (4 (3 long) (2 film)))"


def diamond(**changes: object) -> networkx.DiGraph:
    graph = networkx.DiGraph()
    graph.add_node("top", word=1)
    graph.add_edges_from([("top", "right"), ("top", "left"), ("left", "end"), ("right", "end")])
    graph.nodes["end"].update(word=3, **changes)
    return graph


def keys_of(plan, data, **options) -> list[object]:
    result = check_against_reference(plan, data, **options)
    assert isinstance(result, Linearized), result
    return result.keys


def test_children_stand_in_the_order_of_their_edges():
    assert keys_of(DAG, diamond()) == ["end", "right", "left", "top"]


def test_a_dag_has_as_many_roots_as_nodes_without_a_parent():
    graph = networkx.DiGraph([("a", "c"), ("b", "c"), ("b", "d")])
    graph.add_node("e")
    result = check_against_reference(DAG, [diamond(), graph])
    assert isinstance(result, Linearized)
    assert result.num_structures == 2 and np.diff(result.root_begin).tolist() == [1, 3]
    assert result.keys[4:] == ["c", "a", "d", "b", "e"]


def test_attributes_are_payloads():
    x = np.arange(3, dtype=np.float32)
    plan = carrying(vector(), word(Presence.NOWHERE), kind=DAG.kind)
    result = linearize(plan, diamond(x=x, other="ignored"))
    assert result.payloads["x"][result.rows].tolist() == [[0, 1, 2]] + [[0, 0, 0]] * 3
    assert result.payloads["word"][result.rows].tolist() == [3, -1, -1, 1]


ORDERED = replace(DAG, positions=(0, 1), min_children=0)


def test_edges_say_which_position_a_child_has():
    graph = diamond()
    graph.edges["top", "right"]["position"] = 1
    graph.edges["top", "left"]["position"] = np.int64(0)
    graph.edges["right", "end"]["position"] = 1
    assert keys_of(DAG, graph) == ["end", "right", "left", "top"]
    assert keys_of(ORDERED, graph) == ["end", "left", "right", "top"]
    result = linearize(ORDERED, networkx.freeze(graph))
    ids = {key: int(node) for key, node in zip(result.keys, result.rows, strict=True)}
    first, second = result.arrays["child_0"], result.arrays["child_1"]
    assert (first[ids["top"]], second[ids["top"]]) == (ids["left"], ids["right"])
    assert (first[ids["right"]], second[ids["right"]]) == (-1, ids["end"])
    assert (first[ids["left"]], second[ids["left"]]) == (ids["end"], -1)


@pytest.mark.parametrize("position", [None, -1, 1, 65_536, 2**70, 0.0, "0"])
def test_a_position_that_is_none_or_taken(position):
    graph = networkx.DiGraph()
    graph.add_node("top", word=1)
    graph.add_edge("top", "left", position=1)
    graph.add_edge("top", "right", **({} if position is None else {"position": position}))
    fault = check_against_reference(ORDERED, graph)
    assert isinstance(fault, str) and "fix: graph.add_edge(node, child, position=" in fault
    assert isinstance(check_against_reference(DAG, graph), Linearized)


def test_trees_and_sequences_as_graphs():
    path = networkx.DiGraph([("third", "second"), ("second", "first")])
    path.nodes["first"]["word"] = 4
    assert keys_of(SEQUENCE, path) == keys_of(TREE, path) == ["first", "second", "third"]


def test_keys_that_are_equal_are_one_node():
    graph = networkx.DiGraph()
    graph.add_node(1, word=7)
    graph.add_edge("top", 1.0)
    result = check_against_reference(TREE, graph)
    assert isinstance(result, Linearized) and result.num_nodes == 2
    assert result.payloads["word"].tolist() == [-1, 7]


@pytest.mark.parametrize(
    "view",
    [
        lambda graph: graph.subgraph(["top", "left", "end"]),
        lambda graph: graph.reverse(copy=False),
        lambda graph: networkx.subgraph_view(graph, filter_edge=lambda u, v: v != "right"),
        networkx.freeze,
    ],
)
def test_views_are_graphs_too(view):
    seen = view(diamond())
    native = linearize(DAG, seen)
    assert_same(native, linearize(DAG, networkx.DiGraph(seen)))
    keys_of(DAG, seen)


def test_a_deep_and_a_wide_graph():
    chain = networkx.DiGraph([(step + 1, step) for step in range(200_000)])
    star = networkx.DiGraph([("hub", leaf) for leaf in range(200_000)])
    assert linearize(BARE, chain).num_batches == 200_001
    assert linearize(BARE, star).num_edges == 200_000


def test_a_graph_is_not_kept():
    graph = diamond()
    alive = weakref.ref(graph)
    result = linearize(DAG, graph)
    del graph
    gc.collect()
    assert alive() is None and result.keys[-1] == "top"


def test_a_graph_that_changes_while_it_is_read():
    graph = diamond()

    class Meddling:
        def __index__(self) -> int:
            graph.clear()
            return 2

    graph.nodes["end"]["word"] = Meddling()
    result = linearize(DAG, graph)
    assert result.keys == ["end", "right", "left", "top"]
    assert result.payloads["word"][result.rows].tolist() == [2, -1, -1, 1]


def test_labelled_trees_are_what_the_text_says():
    text, tree = linearize(BINARY, TEXT, vocab=VOCAB), Tree.fromstring(TEXT)
    result = check_against_reference(BINARY, tree, vocab=VOCAB)
    assert isinstance(result, Linearized)
    np.testing.assert_array_equal(result.payloads["word"], text.payloads["word"])
    np.testing.assert_array_equal(result.child, text.child)
    assert result.keys[-1] is tree and result.keys[0] is tree[0]
    assert [key.label() for key in result.keys] == ["2", "3", "2", "4", "3"]


@pytest.mark.parametrize("kind", [ParentedTree.convert, Labelled])
def test_trees_of_other_kinds(kind):
    def convert(tree):
        return Labelled(convert(child) if isinstance(child, Tree) else child for child in tree)

    tree = Tree.fromstring(TEXT)
    result = check_against_reference(BINARY, convert(tree) if kind is Labelled else kind(tree), vocab=VOCAB)
    assert isinstance(result, Linearized) and result.num_nodes == 5


def test_a_list_of_labelled_trees_is_a_batch():
    tree = Tree.fromstring(TEXT)
    assert linearize(BINARY, [tree, TEXT, 1], vocab=VOCAB).num_structures == 3
    assert isinstance(check_against_reference(BINARY, ImmutableTree.convert(tree), vocab=VOCAB), Linearized)


@pytest.mark.parametrize("make", ["graph", "tree"])
def test_the_work_of_python_does_not_grow(make):
    def batch(size: int) -> list[object]:
        if make == "graph":
            graph = networkx.DiGraph([(0, leaf) for leaf in range(1, size)])
            graph.nodes[0]["word"] = 1
            return [graph]
        tree = Labelled(["a"])
        for _ in range(size):
            tree = Labelled([tree, Labelled(["film"])])
        return [tree]

    linearizer = Linearizer(TREE, vocab=VOCAB)
    linearizer(batch(2))  # what the model does not read is looked for once, in the first nodes
    counts = [calls(partial(linearizer, batch(size))) for size in (2, 100, 5000)]
    assert len(set(counts)) == 1, counts
