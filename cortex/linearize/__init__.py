"""Structures to arrays: what callers hold, and what the kernels of `cortex` walk."""

from cortex.linearize.conllu import CyclicSentence, read_conllu
from cortex.linearize.forest import Forest
from cortex.linearize.linearizer import Linearizer, linearize
from cortex.linearize.node import Node
from cortex.linearize.ptb import read_ptb
from cortex.linearize.result import Linearized
from cortex.linearize.vocab import Vocab

__all__ = [
    "CyclicSentence",
    "Forest",
    "Linearized",
    "Linearizer",
    "Node",
    "Vocab",
    "linearize",
    "read_conllu",
    "read_ptb",
]
