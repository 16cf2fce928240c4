"""The sample treebank is what its script writes, and it is binary, labelled and of sentence length."""

import re
from collections import Counter

import pytest

from cortex.data import sample_treebank
from tools import make_sample_treebank

LINES = sample_treebank().read_text(encoding="utf-8").splitlines()
LEAF = re.compile(r"\([0-4] [^() ]+\)")
INNER = re.compile(r"\([0-4] T T\)")


def reduce_to_root(line: str) -> str:
    """Replace leaves, then inner nodes with two trees as children, until nothing changes."""
    text = LEAF.sub("T", line)
    while (shorter := INNER.sub("T", text)) != text:
        text = shorter
    return text


def test_the_script_writes_the_file_that_is_shipped():
    assert make_sample_treebank.make(make_sample_treebank.SEED, make_sample_treebank.COUNT) == LINES


def test_another_seed_gives_other_trees():
    assert make_sample_treebank.make(seed=1, count=5) != make_sample_treebank.make(seed=2, count=5)


@pytest.mark.parametrize("line", ["(2 (2 a) (2 b) (2 c))", "(2 (2 (2 a)) (2 b))", "(7 a)", "(2 a"])
def test_the_check_of_binary_trees_refuses(line):
    assert reduce_to_root(line) != "T"


def test_every_tree_is_binary_and_labelled():
    assert [line for line in LINES if reduce_to_root(line) != "T"] == []


def test_lengths_and_labels_are_spread():
    lengths = [len(LEAF.findall(line)) for line in LINES]
    labels = Counter(line[1] for line in LINES)
    assert min(lengths) >= 5 and max(lengths) <= 40
    assert 15 < sum(lengths) / len(lengths) < 21
    assert len(set(LINES)) == len(LINES) == 300
    assert min(labels[label] for label in "01234") >= 15


def test_words_are_few_enough_for_a_small_vocabulary_and_many_enough_to_repeat():
    words = Counter(re.findall(r"\([0-4] ([^() ]+)\)", "\n".join(LINES)))
    assert 100 < len(words) < 250
    assert sum(count > 1 for count in words.values()) > 100
