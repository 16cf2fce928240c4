"""Words and rows."""

from __future__ import annotations

import numpy as np
import pytest

from cortex.linearize import Vocab
from ragged.errors import DataError


def test_rows_are_those_of_the_list():
    vocab = Vocab(["the", "<unk>", "film"])
    assert [vocab[word] for word in ("the", "film", "flim")] == [0, 2, 1]
    assert len(vocab) == 3 and list(vocab) == ["the", "<unk>", "film"]
    assert "film" in vocab and "flim" not in vocab
    assert repr(vocab) == "Vocab(3 words)"


def test_an_unk_that_is_no_word_has_the_last_row():
    vocab = Vocab(["the", "film"])
    assert vocab["flim"] == 2 and len(vocab) == 3


def test_without_unk_an_unknown_word_is_an_error():
    with pytest.raises(DataError) as refused:
        Vocab(["the"], unk=None)["flim"]
    assert str(refused.value) == (
        "Vocab: the vocabulary does not hold the word 'flim'\n"
        "  because: it was made with unk=None\n"
        '  fix: cortex.Vocab(words, unk="<unk>") gives such words the row of "<unk>"'
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("the film", "Vocab: the words are one string"),
        (["the", 3], "Vocab: word 1 is 3, not a string"),
        (["the", "film", "the"], "Vocab: the word 'the' comes twice"),
        ({"the": 1, "film": 0}, "Vocab: the mapping gives 'the' the number 1, and it comes as word 0"),
    ],
)
def test_words_that_are_none(words, message):
    with pytest.raises(DataError) as refused:
        Vocab(words)
    assert refused.value.what == message


def test_an_unk_that_is_no_string():
    with pytest.raises(DataError, match="Vocab: unk is 3, not a string"):
        Vocab(["the"], unk=3)


def test_a_mapping_to_the_rows_or_to_nothing():
    words = {"the": 0, "film": 1}
    assert list(Vocab(words)) == list(Vocab(dict.fromkeys(words))) == ["the", "film", "<unk>"]


def test_words_of_numpy_are_plain_strings():
    vocab = Vocab(np.array(["the", "film"]), unk=np.str_("rare"))
    assert {type(word) for word in vocab} == {str}


def test_words_of_trees_in_the_order_in_which_they_come():
    texts = ["(3 (2 a)\n (1 b))(2 c)", "(1 ( 0 a ) (1 d\N{NO-BREAK SPACE}e))"]
    assert list(Vocab.from_trees(texts)) == ["a", "b", "c", "d\N{NO-BREAK SPACE}e", "<unk>"]
    assert list(Vocab.from_trees(texts[0], unk=None)) == ["a", "b", "c"]
    assert list(Vocab.from_trees(["", " \n"])) == ["<unk>"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(1 (2 good", "Vocab.from_trees: text 1, line 1, column 4: the bracket is never closed"),
        ("(1 good))", r"Vocab.from_trees: text 1, line 1, column 9: '\)' closes no bracket"),
        ("good", r"Vocab.from_trees: text 1, line 1, column 1: '\(' expected"),
    ],
)
def test_texts_that_are_no_trees(text, message):
    with pytest.raises(DataError, match=message):
        Vocab.from_trees(["(1 fine)", text])
