"""What a structure has and the model does not read is logged, once for each linearizer."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from nltk import Tree

from cortex.linearize import Forest, Linearizer, Node, Vocab
from tests.linearize.support import DAG, TREE

VOCAB = Vocab(["the", "cat", "sat"])
GRAPH = networkx.DiGraph()
GRAPH.add_node(0, word=1)
GRAPH.add_edge(1, 0, deprel="nsubj")
HEADS = Tree("sat", [Tree("cat", [Tree("det", ["the"])]), Tree("obj", ["cat"])])
PHRASES = Tree("S", [Tree("NP", ["the"]), Tree("sat", ["sat"])])
SENTIMENT = Tree("3", [Tree("2", ["the"]), Tree("2", ["cat"])])
REPORTED = {
    "edges": (GRAPH, "attributes of a graph's edges are not read: `deprel`; the model reads `word`"),
    "forest": (
        Forest.from_parents([1, -1], word=[0, 1], tag=[1, 2], x=np.zeros((2, 3))),
        "a Forest's `tag`, `x` is not read; the model reads `word`",
    ),
    "labels": (
        HEADS,
        "labels of inner nodes are not read, and are words of the vocabulary: `sat`, `cat`; the model reads `word`",
    ),
    "dependents": (
        Tree("sat", [Tree("cat", ["the"])]),
        "labels of inner nodes are not read, and are words of the vocabulary: `sat`, `cat`; the model reads `word`",
    ),
    "a head": (
        Tree("cat", ["the"]),
        "labels of inner nodes are not read, and are words of the vocabulary: `cat`; the model reads `word`",
    ),
}


@pytest.mark.parametrize("name", REPORTED)
def test_what_is_not_read_is_reported_once(name, caplog):
    structure, message = REPORTED[name]
    linearize = Linearizer(DAG, vocab=VOCAB)
    for data in (structure, [structure, structure]):
        linearize(data)
    assert caplog.messages == [message]
    Linearizer(DAG, vocab=VOCAB).borrow([structure], ())
    assert caplog.messages == [message] * 2
    assert {record.name for record in caplog.records} == {"cortex.inputs"}


@pytest.mark.parametrize(
    "data", [PHRASES, SENTIMENT, (1, 2), "(1 (2 the))", np.array([1]), [], Node([], word=1, tag=3)], ids=repr
)
def test_what_is_read_or_usual_is_not_reported(data, caplog):
    Linearizer(TREE, vocab=VOCAB)(data)
    assert not caplog.messages


def test_children_under_another_key_are_reported(caplog):
    Linearizer(TREE, children="Plan")({"word": 1, "Plans": [{"word": 2}]})
    assert caplog.messages == [
        "a dict has no `Plan` and is read as a leaf; it has lists of dicts under `Plans`"
    ]
