"""The Recursive API: the language in which a model is written, one node at a time.

    from cortex import ra

    emb = ra.input_tensor("emb", (V, H))
    word = ra.node_input("word", dtype="int32")
    h_ph = ra.placeholder((ra.N, H))
    leaf = ra.compute((ra.N, H), lambda n, i: emb[word[n], i])
    rec = ra.compute((ra.N, H), lambda n, i: ra.tanh(h_ph[n.left, i] + h_ph[n.right, i]))
    h = ra.if_then_else((ra.N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
    model = ra.recursion_op(h_ph, h, structure=ra.Tree())

A model is compiled by `cortex.compile`, and interpreted by `evaluate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cortex.ra import functions
from cortex.ra.base import K, N, S
from cortex.ra.child_layers import attention_children, concat_children, softmax_children
from cortex.ra.declare import compute, if_then_else, input_tensor, node_input, placeholder
from cortex.ra.functions import (
    abs_,
    isleaf,
    max_,
    max_children,
    max_nodes,
    maximum,
    minimum,
    num_children,
    num_nodes,
    sum_,
    sum_children,
    sum_nodes,
    where,
)
from cortex.ra.layers import concat, embedding, gru_cell, layer_norm, linear, log_softmax, softmax
from cortex.ra.model import Model, recursion_op
from cortex.ra.oracle import evaluate
from cortex.ra.schedule import RecursionSchedule as Schedule
from cortex.ra.structure import Dag, Sequence, Tree
from ragged.ir.elementwise import COMPOSED, FUNCTIONS

# The language calls these by their usual names; inside the package Python's own keep theirs.
sum = sum_
max = max_
abs = abs_

__all__ = [
    "Dag",
    "K",
    "Model",
    "N",
    "S",
    "Schedule",
    "Sequence",
    "Tree",
    "abs",
    "attention_children",
    "compute",
    "concat",
    "concat_children",
    "embedding",
    "evaluate",
    "gru_cell",
    "if_then_else",
    "input_tensor",
    "isleaf",
    "layer_norm",
    "linear",
    "log_softmax",
    "max",
    "max_children",
    "max_nodes",
    "maximum",
    "minimum",
    "node_input",
    "num_children",
    "num_nodes",
    "placeholder",
    "recursion_op",
    "softmax",
    "softmax_children",
    "sum",
    "sum_children",
    "sum_nodes",
    "where",
    *FUNCTIONS,
    *COMPOSED,
]


if TYPE_CHECKING:
    from cortex.ra.elementwise import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        """Return the elementwise function `name`."""
        if name in FUNCTIONS or name in COMPOSED:
            return getattr(functions, name)
        raise AttributeError(f"module 'cortex.ra' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
