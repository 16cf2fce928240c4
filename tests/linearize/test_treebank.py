"""Parse trees of a treebank: file, strings and flat arrays say the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cortex.linearize import Forest, Linearized, Node, Vocab, linearize, read_ptb
from tests.linearize.support import BINARY, assert_same_array, carrying, check_against_reference, word
from tests.support.treebank import treebank_path

PLAN = type(BINARY)(BINARY.kind, 2, 2, (word(rows=100_000),), (0, 1))


@pytest.fixture(scope="module")
def treebank() -> Path:
    return treebank_path()


@pytest.fixture(scope="module")
def texts(treebank) -> list[str]:
    return treebank.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def vocab(texts) -> Vocab:
    return Vocab.from_trees(texts)


def forest_of(trees: list[Node]) -> Forest:
    parents: list[int] = []
    words: list[int] = []
    begin = [0]
    for tree in trees:
        stack = [(tree, -1)]
        while stack:
            node, parent = stack.pop()
            stack += [(child, len(parents)) for child in reversed(node.children)]
            parents.append(parent)
            words.append(getattr(node, "word", -1))
        begin.append(len(parents))
    return Forest.from_parents(parents, begin, word=words)


def test_all_trees_as_the_reference_reads_them(treebank, texts, vocab):
    trees = read_ptb(treebank, vocab)
    assert len(trees) == len(texts)
    result = check_against_reference(PLAN, trees)
    assert isinstance(result, Linearized) and result.num_structures == len(texts)
    assert result.payloads["word"][result.num_inner :].min() >= 0


def test_nodes_strings_and_forests_agree(treebank, texts, vocab):
    trees = read_ptb(treebank, vocab)
    results = [linearize(PLAN, data, vocab=vocab) for data in (texts, trees, forest_of(trees))]
    for name in ("batch_begin", "batch_length", "child_begin", "child", "roots", "rows", "row_begin"):
        for other in results[1:]:
            assert_same_array(getattr(other, name), getattr(results[0], name), name)
    assert all((other.payloads["word"] == results[0].payloads["word"]).all() for other in results)
    assert [key if isinstance(key, str) else None for key in results[0].keys[:2]] == [
        getattr(key, "token", None) or str(key.label) for key in results[1].keys[:2]
    ]


def test_tokens_are_those_of_the_text(texts, vocab):
    result = linearize(carrying(word(rows=100_000)), texts[:50], vocab=vocab)
    for s, text in enumerate(texts[:50]):
        rows = slice(*result.row_begin[s : s + 2])
        ids = result.rows[rows]
        tokens = [key for key, n in zip(result.keys[rows], ids, strict=True) if n >= result.num_inner]
        assert tokens == [part.rstrip(")") for part in text.split(" ") if part.endswith(")")]
        np.testing.assert_array_equal(
            result.payloads["word"][ids[ids >= result.num_inner]], [vocab[t] for t in tokens]
        )
