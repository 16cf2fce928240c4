"""Data that comes with the package: a sample treebank, which tools/make_sample_treebank.py writes."""

from __future__ import annotations

from pathlib import Path


def sample_treebank() -> Path:
    """Return the path of a file of binary trees, one a line, in the bracketed format of the SST.

    The sentences come from a grammar of ours; every node is labelled 0 (bad) to 4 (good).
    """
    return Path(__file__).with_name("sample_trees.txt")
