"""Recursive Tensor Comprehensions: a model over trees, DAGs or sequences, written in index notation.

The language is that of `ragged.tc` (Vasilache et al., 2018, section 3). A parameter `tree n` makes a function
recursive: what it computes at the node `n` reads its own outputs at the children of `n`.
"""

from cortex.tc.library import RecursiveComprehension, RecursiveLibrary, define
from ragged.tc import TcError

__all__ = ["RecursiveComprehension", "RecursiveLibrary", "TcError", "define"]
