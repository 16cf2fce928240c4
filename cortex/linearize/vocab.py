"""Words and their rows in an embedding table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from cortex.linearize.extension import parse_ptb
from cortex.linearize.faults import unknown_word
from ragged.errors import DataError

# A bracket with a label and one word: the separators are ASCII, for treebanks hold words with wider spaces.
_LABEL_OR_WORD = re.compile(r"\([ \t\n\r\v\f]*[^ \t\n\r\v\f()]+|([^ \t\n\r\v\f()]+)")


class Vocab:
    """Words in the order of their rows. An unknown word takes the row of `unk`; with unk=None it is an error.

    Where `unk` is not among the words it is given a row of its own, the last. A word that comes twice, or is
    no string, is a `DataError`; so is a mapping to other numbers than these rows.

    >>> vocab = Vocab(["the", "film", "<unk>"])
    >>> vocab["film"], vocab["flim"], "flim" in vocab, len(vocab)
    (1, 2, False, 3)
    """

    __slots__ = ("_rows", "_unknown")

    def __init__(self, words: Iterable[str], unk: str | None = "<unk>") -> None:
        if isinstance(words, str):
            raise DataError("Vocab: the words are one string", example=words[:40], fix="give a list of words")
        if not isinstance(words, Iterable):
            raise _no_list("Vocab: the words", words, "a list of words")
        if isinstance(words, Mapping):
            _check_numbers(words)
        rows: dict[str, int] = {}
        for row, given in enumerate(words):
            word = _word(f"word {row}", given)
            if word in rows:
                raise DataError(
                    f"Vocab: the word {word!r} comes twice",
                    because=f"it would have the rows {rows[word]} and {row}",
                    fix="remove one, and its row of the embedding",
                )
            rows[word] = row
        self._rows = rows
        self._unknown = None if unk is None else rows.setdefault(_word("unk", unk), len(rows))

    @classmethod
    def from_trees(cls, texts: str | Iterable[str], unk: str | None = "<unk>") -> Vocab:
        """Collect the words of bracketed trees, in the order in which they first come, and `unk` after them.

        Raises:
            DataError: a text is no string, or its brackets are no trees.
        """
        words: dict[str, None] = {}
        if not isinstance(texts, Iterable):
            raise _no_list("Vocab.from_trees: the texts", texts, 'a list of texts, ["(good film)"]')
        for number, text in enumerate([texts] if isinstance(texts, str) else texts):
            if not isinstance(text, str):
                raise DataError(
                    f"Vocab.from_trees: a text is of type {type(text).__name__}",
                    fix='bracketed text, "(good film)"',
                )
            if text.strip():
                parse_ptb(text, f"Vocab.from_trees: text {number}", None)
            words.update(dict.fromkeys(word for word in _LABEL_OR_WORD.findall(text) if word))
        if unk is not None:
            words[unk] = None
        return cls(words, unk)

    @property
    def rows(self) -> dict[str, int]:
        """Each word's row; not to be changed."""
        return self._rows

    @property
    def unknown(self) -> int | None:
        """The row of unknown words, or None where they are errors."""
        return self._unknown

    def __getitem__(self, word: str) -> int:
        row = self._rows.get(word, self._unknown)
        if row is None:
            raise unknown_word("Vocab", word)
        return row

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"Vocab({len(self)} words)"


def _no_list(what: str, given: object, fix: str) -> DataError:
    return DataError(f"{what} are of type {type(given).__name__}", fix=fix)


def _word(what: str, given: object) -> str:
    """Return a word as a plain string, which can be saved, of a subclass as NumPy's too."""
    if not isinstance(given, str):
        raise DataError(
            f"Vocab: {what} is {given!r}, not a string",
            because="the words of a tree or a file are found among them by their text",
            fix=f"{str(given)!r}, if that is its text",
        )
    return str.__str__(given)


def _check_numbers(words: Mapping[str, object]) -> None:
    """Refuse a mapping with values that would be ignored: words have the rows 0, 1, 2, ... in the order given."""
    for row, (word, number) in enumerate(words.items()):
        if number is not None and number != row:
            raise DataError(
                f"Vocab: the mapping gives {word!r} the number {number!r}, and it comes as word {row}",
                because="words have the rows 0, 1, 2, ... in the order given",
                fix="sorted(words, key=words.get), or list(words) where the values are no rows",
            )
