"""Reads files of bracketed trees: the Penn Treebank's form, which the Stanford Sentiment Treebank shares."""

from __future__ import annotations

import os

from cortex.linearize.extension import parse_ptb
from cortex.linearize.node import Node
from cortex.linearize.options import check_vocab
from cortex.linearize.utf8 import read_utf8
from cortex.linearize.vocab import Vocab


def read_ptb(path: str | os.PathLike[str], vocab: Vocab | None = None) -> list[Node]:
    """Read the trees of a UTF-8 file; each may span lines.

    Each node has `label` (an int where the text is a number, else a string); each leaf has its `token`, and
    with a vocabulary its `word`. A word that stands among other children without brackets is a leaf of the label None.
    Brackets without a label around a whole tree are dropped. A fault in the text is a `DataError` with file, line and
    column, as is a word that the vocabulary refuses; so is a file that is not UTF-8, with the byte.
    """
    origin = f"read_ptb: {os.fspath(path)}"
    return parse_ptb(read_utf8(path, origin), origin, check_vocab(vocab))
