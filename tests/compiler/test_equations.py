"""Compiled models compute the equations: the library's, and one rebuilt under other names with one gate more."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cortex
from cortex import models
from tests.models import equations
from tests.models.structures import ANY_TREE, BINARY, Drawn, vectors, words
from tests.models.test_rebuilt import NARROW, leaky_model

HIDDEN, EMBED, VOCAB = 19, 5, 11


@cache
def compiled(name):
    model = {
        "tree_sum": lambda: models.tree_sum(HIDDEN, VOCAB),
        "tree_fc": lambda: models.tree_fc(HIDDEN, VOCAB),
        "tree_fc_tanh": lambda: models.tree_fc(HIDDEN, VOCAB, activation="tanh"),
        "mv_rnn": lambda: models.mv_rnn(HIDDEN, VOCAB),
        "tree_lstm": lambda: models.tree_lstm(HIDDEN, EMBED, VOCAB),
        "tree_lstm_vector": lambda: models.tree_lstm(HIDDEN, EMBED, input="vector"),
        "tree_lstm_projected": lambda: models.tree_lstm(HIDDEN, input="projected"),
        "leaky": leaky_model,
    }[name]()
    params = model.init_params(seed=7)
    wide = {key: array.astype(np.float64) for key, array in params.items()}
    return model, wide, cortex.compile(model, params)


def check(name, drawn, expected):
    model, _, fn = compiled(name)
    out = fn([drawn.root])
    assert set(out) == set(expected) == set(model.outputs)
    for key, want in expected.items():
        got = out.nodes(key)[0]
        assert np.abs(got - want).max() <= 1e-5 * max(1.0, np.abs(want).max())


@settings(max_examples=25)
@given(children=ANY_TREE, seed=st.integers(0, 2**16))
def test_a_rebuilt_model_with_one_gate_more(children, seed):
    drawn = Drawn(children, {"vec": vectors(children, NARROW, seed)})
    check("leaky", drawn, equations.leaky_tree_lstm(compiled("leaky")[1], children, drawn.payload))


@pytest.mark.parametrize("name", ["tree_sum", "tree_fc", "tree_fc_tanh", "mv_rnn"])
@settings(max_examples=25)
@given(children=BINARY, seed=st.integers(0, 2**16))
def test_binary_models(name, children, seed):
    drawn = Drawn(children, {"word": words(children, VOCAB, seed, leaves_only=True)})
    wide = compiled(name)[1]
    run = {
        "tree_sum": equations.tree_sum,
        "tree_fc": lambda *args: equations.tree_fc(*args, "relu"),
        "tree_fc_tanh": lambda *args: equations.tree_fc(*args, "tanh"),
        "mv_rnn": equations.mv_rnn,
    }[name]
    check(name, drawn, run(wide, children, drawn.payload))


@pytest.mark.parametrize("name", ["tree_lstm", "tree_lstm_vector", "tree_lstm_projected"])
@settings(max_examples=25)
@given(children=ANY_TREE, seed=st.integers(0, 2**16))
def test_tree_lstm(name, children, seed):
    input_ = {"tree_lstm": "word", "tree_lstm_vector": "vector", "tree_lstm_projected": "projected"}[name]
    payload = {
        "word": lambda: {"word": words(children, VOCAB, seed)},
        "vector": lambda: {"x": vectors(children, EMBED, seed)},
        "projected": lambda: {f"x_{g}": vectors(children, HIDDEN, seed + at) for at, g in enumerate("iouf")},
    }[input_]()
    drawn = Drawn(children, payload)
    explicit = {key: [-1 if value is None else value for value in values] for key, values in payload.items()}
    check(name, drawn, equations.tree_lstm(compiled(name)[1], children, explicit, input_))
