"""What commands read: trees in brackets, vocabularies, parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from cortex.cli.report import INPUT_FILE
from cortex.data import sample_treebank
from cortex.linearize import Node, Vocab, read_ptb
from cortex.linearize.utf8 import read_utf8
from ragged.errors import DataError, ModelError

_UNKNOWN = "<unk>"


def trees_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option --trees, a file, as its argument `path`."""
    return click.option(
        "--trees",
        "path",
        type=INPUT_FILE,
        default=sample_treebank,
        help="Bracketed trees, instead of the sample treebank.",
    )(command)


def read_trees(path: Path, vocab: Vocab | None = None) -> tuple[list[Node], Vocab]:
    """Return the bracketed trees of a file, and the vocabulary that numbers their words.

    That is `vocab`, or else the file's own words with a row for unknown ones. Raises `DataError` for a fault in
    the file, with line and column.
    """
    if vocab is None:
        text = read_utf8(path, str(path))
        read_ptb(path)  # names the file where it holds no trees
        vocab = Vocab.from_trees(text, unk=_UNKNOWN)
    return read_ptb(path, vocab=vocab), vocab


def read_vocab(path: Path) -> Vocab:
    """Read words, one a line, in the order of their rows.

    A word that is not among them takes the row of `<unk>` if that is, and is a `DataError` otherwise.
    """
    words = read_utf8(path, str(path)).removesuffix("\n").split("\n")
    words = [word.removesuffix("\r") for word in words]
    if "" in words:
        raise DataError(
            f"{path}:{words.index('') + 1}: a line without a word",
            because="each line is a row of the embedding",
            fix="remove it, if the embedding has no row for it",
        )
    return Vocab(words, unk=_UNKNOWN if _UNKNOWN in words else None)


def read_params(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays of an .npz file, by name; raises `ModelError` if it is none, or holds other objects."""
    with path.open("rb") as file:
        try:
            arrays = np.load(file, allow_pickle=False)
            if isinstance(arrays, np.lib.npyio.NpzFile):
                return dict(arrays)
            why = "it is one array without a name"
        except Exception as error:  # of damaged archives zipfile and zlib raise what they do not document
            why = str(error)
    raise ModelError(f"{path} is no .npz file of arrays", because=why, fix="numpy.savez(path, **params)")
