"""The models of MODELS.md, each in the Recursive API alone, with its names, shapes and equations."""

from __future__ import annotations

from cortex.models.from_torch import from_torch
from cortex.models.mv_rnn import mv_rnn
from cortex.models.tree_fc import tree_fc
from cortex.models.tree_lstm import tree_lstm
from cortex.models.tree_sum import tree_sum

__all__ = ["from_torch", "mv_rnn", "tree_fc", "tree_lstm", "tree_sum"]
