"""What commands read from files."""

import numpy as np
import pytest

from cortex.cli.trees import read_params, read_trees, read_vocab
from ragged.errors import DataError, ModelError


def test_words_are_numbered_as_they_come(trees):
    nodes, vocab = read_trees(trees)
    assert list(vocab) == ["The", "fine", "film", "a", "bore", "<unk>"]
    assert [node.children[0].word for node in nodes[:2]] == [0, 3]


def test_a_vocabulary_decides(trees, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("film\n<unk>\r\nbore", encoding="utf-8")
    nodes, vocab = read_trees(trees, read_vocab(path))
    assert list(vocab) == ["film", "<unk>", "bore"]
    assert nodes[1].children[0].word == 1


def test_a_vocabulary_without_a_row_for_unknown_words_refuses_them(trees, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("film\nbore\n", encoding="utf-8")
    with pytest.raises(DataError, match="'The'"):
        read_trees(trees, read_vocab(path))


def test_words_that_only_unicode_takes_for_line_ends_are_one_row(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a\x85b\nc\u2028d\n", encoding="utf-8")
    assert list(read_vocab(path)) == ["a\x85b", "c\u2028d"]


def test_a_line_without_a_word_is_refused(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("film\n\nbore\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_vocab(path)
    assert str(caught.value) == (
        f"{path}:2: a line without a word\n"
        "  because: each line is a row of the embedding\n"
        "  fix: remove it, if the embedding has no row for it"
    )


@pytest.mark.parametrize("read", [read_trees, read_vocab])
def test_text_that_is_not_utf_8_is_refused(tmp_path, read):
    path = tmp_path / "latin.txt"
    path.write_bytes("(2 Café)".encode("latin-1"))
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path} is not UTF-8 text\n  because: byte 6 is 0xe9\n  fix: convert it: iconv -t utf-8"
    )


def test_parameters_are_read_by_name(tmp_path):
    path = tmp_path / "params.npz"
    np.savez(path, W=np.eye(2, dtype=np.float32))
    params = read_params(path)
    assert list(params) == ["W"] and params["W"].dtype == np.float32


def write_object(path):
    np.savez(path, W=np.array([{}], dtype=object))


def write_damaged(path):
    np.savez_compressed(path, W=np.arange(99.0))
    data = bytearray(path.read_bytes())
    data[80:120] = bytes(40)
    path.write_bytes(data)


def write_one_array(path):
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"PK\x03\x04 and no archive"),
        lambda path: path.write_text("words"),
        write_object,
        write_one_array,
        write_damaged,
    ],
    ids=["empty", "broken", "text", "objects", "npy", "damaged"],
)
def test_what_is_no_file_of_arrays_is_refused(tmp_path, write):
    path = tmp_path / "params.npz"
    write(path)
    with pytest.raises(
        ModelError, match=r"params\.npz is no \.npz file of arrays\n  because: .+\n  fix: numpy"
    ):
        read_params(path)
