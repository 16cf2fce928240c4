"""The models of nodes with an input: how each is made, what it runs over, and its equations in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hypothesis import strategies as st

from cortex import models, ra
from tests.models import equations
from tests.models.structures import ANY_TREE, CHAIN, dags, in_post_order, sparse, vectors, words

INPUTS = ("word", "vector", "projected")
DAG = dags().map(in_post_order)
Expected = dict[str, equations.Array]


@dataclass(frozen=True)
class Entry:
    """`equation` takes parameters, rows of children, payloads and the kind of input; `gates` are the products."""

    function: Callable[..., ra.Model]
    structures: st.SearchStrategy[Any]
    gates: str
    equation: Callable[..., Expected]

    def make(self, *, vocab: int | None = None, **arguments: Any) -> ra.Model:
        """Return the model, with a vocabulary if its input are words."""
        return self.function(**for_words(vocab, **arguments))


def for_words(vocab: int | None, **arguments: Any) -> dict[str, Any]:
    """Return a model's arguments: a vocabulary is for words."""
    return arguments if arguments.get("input") in ("vector", "projected") else {**arguments, "vocab": vocab}


LIBRARY = {
    "tree_rnn": Entry(models.tree_rnn, ANY_TREE, "h", partial(equations.rnn, act="tanh")),
    "tree_lstm": Entry(models.tree_lstm, ANY_TREE, "iouf", equations.tree_lstm),
    "nary_tree_lstm": Entry(models.nary_tree_lstm, sparse(2), "iouf", equations.nary_tree_lstm),
    "tree_gru": Entry(models.tree_gru, ANY_TREE, "rzg", partial(equations.gru, simple=False)),
    "simple_tree_gru": Entry(models.simple_tree_gru, ANY_TREE, "rzg", partial(equations.gru, simple=True)),
    "dag_rnn": Entry(models.dag_rnn, DAG, "h", partial(equations.rnn, act="relu")),
    "dag_rnn_tanh": Entry(
        partial(models.dag_rnn, activation="tanh"), DAG, "h", partial(equations.rnn, act="tanh")
    ),
    "lstm": Entry(models.lstm, CHAIN, "iouf", equations.tree_lstm),
    "gru": Entry(models.gru, CHAIN, "rzg", partial(equations.gru, simple=False)),
    "ternary_tree_lstm": Entry(
        partial(models.nary_tree_lstm, arity=3), sparse(3), "iouf", equations.nary_tree_lstm
    ),
}


def payloads(
    entry: Entry,
    input: str,
    children: Sequence[Sequence[int]],
    hidden: int,
    embed: int,
    vocab: int,
    seed: int,
) -> dict[str, list[object]]:
    """Return what each row carries, None where it carries nothing."""
    match input:
        case "word":
            return {"word": words(children, vocab, seed)}
        case "vector":
            given = vectors(children, embed, seed)
            return {"x": [None if row % 5 == 3 else x for row, x in enumerate(given)]}
        case _:
            return {f"x_{g}": vectors(children, hidden, seed + at) for at, g in enumerate(entry.gates)}


def expected(
    entry: Entry,
    input: str,
    params: equations.Params,
    children: Sequence[Sequence[int]],
    payload: dict[str, list[object]],
    embed: int,
) -> Expected:
    """Return what the equations give, where a node that carries no input has word -1 or a zero vector."""
    absent = {"word": -1, "x": [0.0] * embed}
    full = {
        name: [absent[name] if value is None else value for value in values]
        for name, values in payload.items()
    }
    return entry.equation(params, children, full, input)
