"""The treebank that tests run over: the packaged sample, or the bracketed file that CORTEX_TREEBANK names."""

import os
from pathlib import Path

from cortex.data import sample_treebank


def treebank_path() -> Path:
    """Return a file with one binary tree in brackets a line."""
    named = os.environ.get("CORTEX_TREEBANK")
    return Path(named) if named else sample_treebank()
