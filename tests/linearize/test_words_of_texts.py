"""Words of bracketed strings: the vocabulary numbers them, whatever their characters and lengths."""

import random

import pytest

from cortex.ilir.plan import Presence
from cortex.linearize import Vocab
from tests.linearize.support import carrying, check_against_reference, word

PLAN = carrying(word(Presence.NOWHERE, rows=1000))
LETTERS = "ab\u00e9\u4e16\U0001f600"
"""Characters of one, two and four bytes in Python's strings."""


def words_of(draw, letters, count):
    return list(dict.fromkeys("".join(draw.choices(letters, k=draw.randint(1, 19))) for _ in range(count)))


@pytest.mark.parametrize("letters", ["ab", LETTERS[:3], LETTERS])
@pytest.mark.parametrize("known", [0, 1, 15, 400])
def test_every_word_is_found(letters, known):
    draw = random.Random(known)
    words = words_of(draw, letters, 500)
    for unk in ("<unk>", None):
        vocab = Vocab(words[:known] or ["only"], unk=unk)
        for text in words if unk else words[:known]:
            tree = (
                f"(1 (2 {text}) (3 {draw.choice(words[: known or None])}))"
                if unk
                else f"(1 (2 {text}) {text})"
            )
            check_against_reference(PLAN, [tree, f"(4 {text})"], vocab=vocab)
    if known < len(words):
        message = check_against_reference(
            PLAN, f"(4 {words[known]})", vocab=Vocab(words[:known] or ["x"], unk=None)
        )
        assert "does not hold the word" in message


def test_words_that_begin_and_end_alike():
    words = ["a" * length for length in range(1, 40)] + ["a" * 8 + "b" * length for length in range(1, 20)]
    vocab = Vocab(words, unk=None)
    result = check_against_reference(PLAN, [f"(0 {one})" for one in words], vocab=vocab)
    assert result.payloads["word"][result.rows].tolist() == list(range(len(words)))
    assert result.row_keys == words
