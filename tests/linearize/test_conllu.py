"""Files of dependencies: heads as trees, enhanced dependencies as graphs."""

from __future__ import annotations

import os
import sys
import warnings

import networkx
import numpy as np
import pytest

import cortex
from cortex.linearize import CyclicSentence, Linearized, Vocab, read_conllu
from ragged.errors import DataError, UserError
from tests.linearize.support import BARE, DAG, check_against_reference
from tests.linearize.support import TREE as PLAN

# A word of two tokens (3-4), an empty node (5.1), a token with two heads, and one with two relations to one head.
SHARED = """\
# sent_id = shared
# text = She wants to dance (and sing)
1\tShe\tshe\tPRON\tPRP\tCase=Nom|Gender=Fem\t2\tnsubj\t2:nsubj|4:nsubj:xsubj\t_
2\twants\twant\tVERB\tVBZ\t_\t0\troot\t0:root\t_
3-4\tto dance\t_\t_\t_\t_\t_\t_\t_\t_
3\tto\tto\tPART\tTO\t_\t4\tmark\t4:mark\t_
4\tdance\tdance\tVERB\tVB\t_\t2\txcomp\t2:xcomp|2:conj\t_
5\tsing\tsing\tVERB\tVB\t_\t4\tconj\t5.1:conj\t_
5.1\tdo\tdo\tVERB\tVB\t_\t_\t_\t4:dep\t_

"""
# Tokens 2 and 3 are each other's heads in the enhanced graph; the tree is one.
CYCLIC = """\
# sent_id = cyclic
1\tthose\t_\tPRON\t_\t_\t0\troot\t0:root\t_
2\twho\t_\tPRON\t_\t_\t3\tnsubj\t3:nsubj\t_
3\tleft\t_\tVERB\t_\t_\t1\tacl\t1:acl|2:ref\t_

"""
ALONE = "1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t0:root\t_\n\n"


@pytest.fixture
def write(tmp_path):
    def write(text: str):
        path = tmp_path / "some.conllu"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def shape(node):
    return (node.token, [shape(child) for child in node.children])


def test_heads_are_trees_in_the_order_of_the_sentence(write):
    tree, alone = read_conllu(write(SHARED + ALONE))
    assert shape(tree) == ("wants", [("She", []), ("dance", [("to", []), ("sing", [])])])
    assert shape(alone) == ("Yes", [])
    assert vars(tree.children[0]) == {
        "children": (),
        "id": 1,
        "token": "She",
        "lemma": "she",
        "upos": "PRON",
        "xpos": "PRP",
        "feats": {"Case": "Nom", "Gender": "Fem"},
        "deprel": "nsubj",
    }


def test_enhanced_dependencies_are_graphs(write):
    graph, _ = read_conllu(write(SHARED + ALONE), enhanced=True)
    assert isinstance(graph, networkx.DiGraph) and graph.graph == {"sent_id": "shared"}
    assert list(graph) == [1, 2, 3, 4, 5, "5.1"]
    assert list(graph.edges(data="deprel")) == [
        (2, 1, ["nsubj"]),
        (2, 4, ["xcomp", "conj"]),
        (4, 1, ["nsubj:xsubj"]),
        (4, 3, ["mark"]),
        (4, "5.1", ["dep"]),
        ("5.1", 5, ["conj"]),
    ]
    assert graph.nodes["5.1"]["token"] == "do" and "word" not in graph.nodes[1]


def test_words_are_numbered(write):
    vocab = Vocab(["She", "wants", "to", "dance"])
    path = write(SHARED)
    result = check_against_reference(PLAN, read_conllu(path, vocab))
    assert isinstance(result, Linearized)
    assert result.payloads["word"][result.rows].tolist() == [0, 2, 4, 3, 1]
    graphs = check_against_reference(DAG, read_conllu(path, vocab, enhanced=True))
    assert isinstance(graphs, Linearized)
    assert graphs.keys == [1, 3, 5, "5.1", 4, 2]


def test_a_sentence_with_a_cycle_is_reported_and_left_out(write):
    path = write(SHARED + CYCLIC + ALONE)
    assert len(read_conllu(path)) == 3
    found: list[CyclicSentence] = []
    assert len(read_conllu(path, enhanced=True, on_cycle=found.append)) == 2
    assert list(map(str, found)) == ["sentence 1 (cyclic): 2 -> 3 -> 2"]
    with pytest.warns(UserWarning) as caught:
        read_conllu(path, enhanced=True)
    assert [str(one.message) for one in caught] == [
        f"read_conllu: {path}: 1 of 3 sentences has a cycle and is left out: sentence 1 (cyclic): 2 -> 3 -> 2"
    ]
    assert caught[0].filename == __file__


def test_a_warning_lists_the_first_ones(write):
    with pytest.warns(UserWarning, match="5 of 6 sentences have cycles and are left out: .*; and 2 more$"):
        read_conllu(write(CYCLIC * 5 + ALONE), enhanced=True)


@pytest.mark.parametrize(
    ("heads", "cycle"),
    [((2, 3, 2, 0), (2, 3, 2)), ((1,), (1, 1)), ((2, 1), (1, 2, 1)), ((3, 1, 2), (1, 3, 2, 1))],
)
def test_heads_may_go_round(write, heads, cycle):
    lines = [f"{n}\tw\t_\t_\t_\t_\t{head}\tdep\t_\t_\n" for n, head in enumerate(heads, start=1)]
    found: list[CyclicSentence] = []
    assert read_conllu(write("".join(lines) + "\n"), on_cycle=found.append) == []
    assert found[0].cycle.tokens == cycle and found[0].sent_id is None
    assert str(found[0]) == f"sentence 0: {' -> '.join(map(str, cycle))}"


LINE = "1\tYes\tyes\tINTJ\tUH\t_\t{head}\troot\t{deps}\t_\n"


@pytest.mark.parametrize(
    ("text", "enhanced", "what", "because"),
    [
        ("no columns\n", False, "this is no CoNLL-U", "Invalid line format"),
        (LINE.format(head="x", deps="_"), False, "this is no CoNLL-U", "Failed parsing field 'head'"),
        (LINE.format(head="_", deps="_"), False, "token 1 has no HEAD", "the column is empty or no number"),
        (
            LINE.format(head="0", deps="_"),
            True,
            "token 1 has no DEPS",
            "the column is empty or no list of heads",
        ),
        (
            LINE.format(head="0", deps="0"),
            True,
            "token 1 has no DEPS",
            "the column is empty or no list of heads",
        ),
        (
            LINE.format(head="7", deps="_"),
            False,
            "the head of token 1 is 7",
            "the sentence has no such token",
        ),
        (
            LINE.format(head="0", deps="7:x"),
            True,
            "the head of token 1 is 7",
            "the sentence has no such token",
        ),
        (
            LINE.format(head="0", deps="_") + LINE.format(head="0", deps="_").replace("1", "2", 1),
            False,
            "two roots in one tree",
            "tokens 1 and 2 have no head",
        ),
    ],
)
def test_what_is_refused(write, text, enhanced, what, because):
    path = write(ALONE + text + "\n")
    with pytest.raises(DataError) as refused:
        read_conllu(path, enhanced=enhanced)
    assert refused.value.what == f"read_conllu: {path}, sentence 1: {what}"
    assert because in str(refused.value)


@pytest.mark.parametrize("enhanced", [False, True])
@pytest.mark.parametrize(
    "block", ["# newdoc id = x\n", "1.1\tdo\t_\t_\t_\t_\t_\t_\t0:root\t_\n", "1-2\tto dance\n"]
)
def test_blocks_without_words_are_skipped(write, block, enhanced):
    text = f"{block}\n{ALONE}{block}\n{CYCLIC}{block}"
    found: list[CyclicSentence] = []
    read = read_conllu(write(text), enhanced=enhanced, on_cycle=found.append)  # type: ignore[call-overload]
    assert len(read) == 1 + (not enhanced) and [each.number for each in found] == [1] * enhanced


TWICE = LINE.format(head="0", deps="0:root") + LINE.format(head="1", deps="1:x")


@pytest.mark.parametrize("enhanced", [False, True])
@pytest.mark.parametrize(
    ("text", "what", "because"),
    [
        (TWICE, "two tokens have the id 1", "heads name a token by its id"),
        (TWICE.replace("1\tYes", "_\tYes", 1), "a token has no ID", "the column is empty or missing"),
        ("# global.columns = ID HEAD\n1\t0\n", "a token has no FORM", "the column is empty or missing"),
        (
            "1.1\t_\t_\t_\n1.1\t_\t_\t_\n" + ALONE,
            "two tokens have the id 1.1",
            "heads name a token by its id",
        ),
        (LINE.format(head="1" * 4301, deps="_"), "this is no CoNLL-U", "4300 digits"),
        (ALONE.replace("1", "1" * 4301, 1), "this is no CoNLL-U", "4300 digits"),
    ],
)
def test_ids_and_heads_that_are_refused(write, text, what, because, enhanced):
    path = write(ALONE + text + "\n")
    with pytest.raises(DataError) as refused:
        read_conllu(path, enhanced=enhanced)  # type: ignore[call-overload]
    assert refused.value.what == f"read_conllu: {path}, sentence 1: {what}"
    assert because in str(refused.value)


def test_the_whole_text_of_two_equal_ids(write):
    path = write(TWICE + "\n")
    with pytest.raises(DataError) as refused:
        read_conllu(path)
    assert str(refused.value) == (
        f"read_conllu: {path}, sentence 0: two tokens have the id 1\n"
        "  because: heads name a token by its id\n"
        "  fix: number the tokens of a sentence 1, 2, 3, ..."
    )


def test_the_whole_text_of_an_empty_column(write):
    path = write(TWICE.replace("1\tYes", "_\tYes", 1) + "\n")
    with pytest.raises(DataError) as refused:
        read_conllu(path)
    assert str(refused.value) == (
        f"read_conllu: {path}, sentence 0: a token has no ID\n"
        "  because: the column is empty or missing\n"
        "  example: None\tYes\tyes\tINTJ\tUH\tNone\t0\troot\t[('root', 0)]\tNone\n"
        "  fix: give each token a line of ten columns with tabs between them"
    )


def test_a_file_that_is_not_utf_8(tmp_path):
    path = tmp_path / "latin.conllu"
    path.write_bytes(ALONE.replace("Yes", "Café").encode("latin-1"))
    with pytest.raises(DataError) as refused:
        read_conllu(path)
    assert str(refused.value) == (
        f"read_conllu: {path} is not UTF-8 text\n  because: byte 5 is 0xe9\n  fix: convert it: iconv -t utf-8"
    )


def test_a_word_that_the_vocabulary_refuses(write):
    path = write(SHARED)
    with pytest.raises(DataError) as refused:
        read_conllu(path, Vocab(["She"], unk=None))
    assert str(refused.value).startswith(
        f"read_conllu: {path}, sentence 0, token 2: the vocabulary does not hold the word 'wants'"
    )


def test_a_long_sentence_of_heads_in_a_row(write):
    lines = [f"{n}\tw\t_\t_\t_\t_\t{n - 1}\tdep\t_\t_\n" for n in range(1, 5001)]
    (tree,) = read_conllu(write("".join(lines) + "\n"))
    result = check_against_reference(BARE, tree)
    assert isinstance(result, Linearized) and result.num_batches == 5000


@pytest.mark.parametrize("enhanced", [False, True])
def test_a_file_runs(write, enhanced):
    path = os.environ.get("CORTEX_CONLLU") or write((SHARED + CYCLIC + ALONE) * 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        words = {
            token for graph in read_conllu(path, enhanced=True) for _, token in graph.nodes(data="token")
        }
        vocab = Vocab(sorted(words))
        data = read_conllu(path, vocab, enhanced=enhanced)  # type: ignore[call-overload]
    make = cortex.models.dag_rnn if enhanced else cortex.models.tree_rnn
    model = make(hidden=6, embed=3, vocab=len(vocab), input="word")
    params = model.init_params(seed=3)
    fn = cortex.compile(model, params)
    out = fn(data)
    for index in range(0, len(data), max(1, len(data) // 40)):
        want = cortex.ra.evaluate(model, params, data[index])["h"]
        np.testing.assert_allclose(out.nodes("h")[index], want, atol=1e-5)
        if enhanced:
            assert sorted(map(str, out.keys(index))) == sorted(map(str, data[index]))
        else:
            assert out.keys(index)[-1] is data[index]


def test_without_the_package_that_reads_the_columns(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "conllu", None)
    with pytest.raises(UserError, match="read_conllu: the package 'conllu' is not installed"):
        read_conllu(tmp_path / "some.conllu")
