"""Files of bracketed trees."""

from __future__ import annotations

import pytest

from cortex.linearize import Linearized, Node, Vocab, read_ptb
from ragged.errors import DataError
from tests.linearize.support import TREE, check_against_reference


def shape(node: Node) -> object:
    token = getattr(node, "token", None)
    return (node.label, token if token is not None else [shape(child) for child in node.children])


@pytest.fixture
def write(tmp_path):
    def write(text: str):
        path = tmp_path / "trees.txt"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_trees_may_span_lines_and_share_them(write):
    trees = read_ptb(write("(3 (2 a)\n   (1 b)) (S (NP c) (-1 d))\n\n(4 ü\N{NO-BREAK SPACE}ü)\n"))
    assert [shape(tree) for tree in trees] == [
        (3, [(2, "a"), (1, "b")]),
        ("S", [("NP", "c"), (-1, "d")]),
        (4, "ü\N{NO-BREAK SPACE}ü"),
    ]
    assert not hasattr(trees[0].children[0], "word")


def test_brackets_without_a_label_around_a_tree_are_dropped(write):
    assert [shape(tree) for tree in read_ptb(write("( (S (NP a) (VP b)) )\n((X c))"))] == [
        ("S", [("NP", "a"), ("VP", "b")]),
        ("X", "c"),
    ]


@pytest.mark.parametrize(
    "text, children",
    [
        ("(S the cat)", [(None, "the"), (None, "cat")]),
        ("(S the (N cat))", [(None, "the"), ("N", "cat")]),
        ("(S (N cat) the)", [("N", "cat"), (None, "the")]),
        ("( (S a (N b) c d) )", [(None, "a"), ("N", "b"), (None, "c"), (None, "d")]),
    ],
)
def test_words_without_brackets_are_leaves(write, text, children):
    (tree,) = read_ptb(write(text), Vocab.from_trees(text))
    assert shape(tree) == ("S", children)
    assert [leaf.word for leaf in tree.children] == list(range(len(children)))
    result = check_against_reference(TREE, text, vocab=Vocab.from_trees(text))
    assert isinstance(result, Linearized)
    assert result.keys == [*(token for _, token in children), "S"]


def test_words_have_their_rows(write):
    tree = read_ptb(write("(3 (2 a) (1 zz))"), Vocab(["x", "a"]))[0]
    assert [leaf.word for leaf in tree.children] == [1, 2]


FAULTS = {
    "": "the text holds no tree",
    "(3 (2 a)\n  (1 b)))": "line 2, column 9: ')' closes no bracket",
    "(3 a)\n(3 (2 a": "line 2, column 4: the bracket is never closed",
    "(3 a) b": "line 1, column 7: '(' expected, 'b' found",
    "(3 a)\n (2 ())": "line 2, column 5: empty brackets",
    "(3 a) (2)": "line 1, column 7: nothing follows the label '2'",
    "(3 ((2 a)))": "line 1, column 4: the bracket has no label",
    "((2 a) b)": "line 1, column 8: 'b' stands beside a tree in brackets without a label",
}


@pytest.mark.parametrize("text", FAULTS)
def test_faults_have_file_line_and_column(write, text):
    path = write(text)
    with pytest.raises(DataError) as refused:
        read_ptb(path)
    assert refused.value.what in (f"read_ptb: {path}, {FAULTS[text]}", f"read_ptb: {path}: {FAULTS[text]}")


def test_a_word_that_the_vocabulary_refuses(write):
    path = write("(3 (2 a)\n (1 zz))")
    with pytest.raises(DataError) as refused:
        read_ptb(path, Vocab(["a"], unk=None))
    assert (
        refused.value.what
        == f"read_ptb: {path}, line 2, column 2: the vocabulary does not hold the word 'zz'"
    )


def test_a_file_that_is_not_utf_8(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("(2 Café)".encode("latin-1"))
    with pytest.raises(DataError) as refused:
        read_ptb(path)
    assert str(refused.value) == (
        f"read_ptb: {path} is not UTF-8 text\n  because: byte 6 is 0xe9\n  fix: convert it: iconv -t utf-8"
    )


def test_line_ends_of_other_systems(tmp_path):
    path = tmp_path / "dos.txt"
    path.write_bytes(b"(3 a)\r\n(3 b)\r(2 ())")
    with pytest.raises(DataError, match="line 3, column 4: empty brackets"):
        read_ptb(path)


def test_a_deep_tree(write):
    depth = 100_000
    assert len(read_ptb(write("(1 " * depth + "a" + ")" * depth))) == 1


def test_a_vocabulary_is_a_vocab(write):
    with pytest.raises(DataError, match="vocab is of type list"):
        read_ptb(write("(3 a)"), ["a"])  # type: ignore[arg-type]
