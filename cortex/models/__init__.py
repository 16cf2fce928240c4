"""Library models, written in the Recursive API; each names the paper of its equations."""

from __future__ import annotations

from cortex.models.from_torch import from_torch
from cortex.models.gru import gru
from cortex.models.gru_reset_after import gru_reset_after
from cortex.models.lstm import lstm
from cortex.models.mv_rnn import mv_rnn
from cortex.models.nary_tree_lstm import nary_tree_lstm
from cortex.models.tree_fc import tree_fc
from cortex.models.tree_gru import simple_tree_gru, tree_gru
from cortex.models.tree_lstm import tree_lstm
from cortex.models.tree_rnn import dag_rnn, tree_rnn
from cortex.models.tree_sum import tree_sum

__all__ = [
    "dag_rnn",
    "from_torch",
    "gru",
    "gru_reset_after",
    "lstm",
    "mv_rnn",
    "nary_tree_lstm",
    "simple_tree_gru",
    "tree_fc",
    "tree_gru",
    "tree_lstm",
    "tree_rnn",
    "tree_sum",
]
