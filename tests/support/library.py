"""The models of the library in every way to give them their inputs, small, by name."""

from __future__ import annotations

from functools import cache, partial

from cortex import models, ra

INPUTS = ("word", "vector", "projected")
H, E, V = 2, 3, 7


def _with_inputs() -> dict[str, ra.Model]:
    """Return the models of nodes with an input x_n, each in every kind of it."""
    makers = {
        "tree_rnn": models.tree_rnn,
        "tree_lstm": models.tree_lstm,
        "nary_tree_lstm": models.nary_tree_lstm,
        "tree_gru": models.tree_gru,
        "simple_tree_gru": models.simple_tree_gru,
        "dag_rnn": models.dag_rnn,
        "lstm": models.lstm,
        "gru": models.gru,
    }
    return {
        f"{name}, {kind}": make(hidden=H, embed=E, input=kind, **({"vocab": V} if kind == "word" else {}))
        for name, make in makers.items()
        for kind in INPUTS
    }


@cache
def library() -> dict[str, ra.Model]:
    """Return every model of `cortex.models`, by its name and the kind of its input."""
    by_leaf = {
        "tree_sum": partial(models.tree_sum),
        "tree_fc": models.tree_fc,
        "mv_rnn": models.mv_rnn,
    }
    return {name: make(hidden=H, vocab=V) for name, make in by_leaf.items()} | _with_inputs()
