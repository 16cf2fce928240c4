"""Faults in bracketed text, each with its line and column, and in looking its words up."""

from __future__ import annotations

from cortex.linearize.faults.place import short
from ragged.errors import DataError

_FORM = "a tree is (label word) or (label tree tree ...)"


def no_vocabulary(origin: str, value: str) -> DataError:
    """A bracketed string, and nothing that says which word has which number."""
    return DataError(
        f"{origin}: a bracketed string needs a vocabulary",
        because="the model reads its words as numbers",
        example=short(value),
        fix='compile(..., vocab=cortex.Vocab(words, unk="<unk>"))',
    )


def empty_text(origin: str) -> DataError:
    """A text without any tree."""
    return DataError(f"{origin}: the text holds no tree", because=_FORM, fix="give a bracketed tree")


def no_bracket(origin: str, line: int, column: int, found: str) -> DataError:
    """A text that starts with something else than an opening bracket."""
    return DataError(
        f"{origin}, line {line}, column {column}: '(' expected, {short(found)} found",
        because=_FORM,
        fix="begin the tree with '('",
    )


def unmatched(origin: str, line: int, column: int) -> DataError:
    """A closing bracket that closes nothing."""
    return DataError(
        f"{origin}, line {line}, column {column}: ')' closes no bracket",
        because="each bracket before it is closed already",
        fix="remove it, or open the bracket that it should close",
    )


def unclosed(origin: str, line: int, column: int, depth: int) -> DataError:
    """A text that ends within a bracket; line and column are those of the innermost one."""
    return DataError(
        f"{origin}, line {line}, column {column}: the bracket is never closed",
        because=f"the text ends with {depth} open",
        fix="add the missing ')'",
    )


def empty_brackets(origin: str, line: int, column: int) -> DataError:
    """Brackets with nothing in them."""
    return DataError(
        f"{origin}, line {line}, column {column}: empty brackets",
        because=_FORM,
        fix="remove them, or fill them",
    )


def no_content(origin: str, line: int, column: int, label: str) -> DataError:
    """A label without a word and without a subtree."""
    return DataError(
        f"{origin}, line {line}, column {column}: nothing follows the label {short(label)}",
        because=_FORM,
        fix="give the leaf its word",
    )


def no_label(origin: str, line: int, column: int) -> DataError:
    """A bracket that starts with a bracket."""
    return DataError(
        f"{origin}, line {line}, column {column}: the bracket has no label",
        because=f"{_FORM}; only one pair of brackets around a whole tree may go without",
        fix="put a label before the first subtree",
    )


def bare_word(origin: str, line: int, column: int, found: str) -> DataError:
    """A word behind the tree in brackets without a label."""
    return DataError(
        f"{origin}, line {line}, column {column}: {short(found)} stands beside a tree in brackets without a label",
        because=_FORM,
        fix="put a label before the first subtree",
    )


def trailing(origin: str, line: int, column: int, found: str) -> DataError:
    """Something behind the end of the tree."""
    return DataError(
        f"{origin}, line {line}, column {column}: {short(found)} follows the end of the tree",
        because="a string is one tree",
        fix="give several trees as a list of strings",
    )


def unknown_word(origin: str, word: str) -> DataError:
    """A word that the vocabulary does not hold, where no row is set aside for such words."""
    return DataError(
        f"{origin}: the vocabulary does not hold the word {short(word)}",
        because="it was made with unk=None",
        fix='cortex.Vocab(words, unk="<unk>") gives such words the row of "<unk>"',
    )
