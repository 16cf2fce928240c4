"""The library models against their equations in NumPy, by the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex import models, ra
from cortex.ilir.plan import Presence, StructureKind
from ragged.errors import ModelError
from tests.models import equations
from tests.models.structures import ANY_TREE, BINARY, Drawn, vectors, words

H, E, V = 3, 2, 7
SEEDS = st.integers(0, 2**16)


def float64(params):
    return {name: array.astype(np.float64) for name, array in params.items()}


def check(model, expected, drawn, params):
    got = ra.evaluate(model, params, drawn.root)
    want = expected(float64(params), drawn.children, drawn.payload)
    assert list(got) == list(model.outputs) == list(want)
    for name, array in want.items():
        assert got[name].dtype == np.float64
        np.testing.assert_allclose(got[name], array, rtol=1e-12, atol=1e-13)


@given(BINARY, SEEDS)
def test_tree_sum(children, seed):
    model = models.tree_sum(hidden=H, vocab=V)
    drawn = Drawn(children, {"word": words(children, V, seed, leaves_only=True)})
    check(model, equations.tree_sum, drawn, model.init_params(seed))


@given(BINARY, SEEDS, st.sampled_from(["relu", "tanh"]))
def test_tree_fc(children, seed, activation):
    model = models.tree_fc(hidden=H, vocab=V, activation=activation)
    drawn = Drawn(children, {"word": words(children, V, seed, leaves_only=True)})
    check(model, lambda *args: equations.tree_fc(*args, activation), drawn, model.init_params(seed))


@given(BINARY, SEEDS)
def test_mv_rnn(children, seed):
    model = models.mv_rnn(hidden=H, vocab=V)
    drawn = Drawn(children, {"word": words(children, V, seed, leaves_only=True)})
    check(model, equations.mv_rnn, drawn, model.init_params(seed))


@given(ANY_TREE, SEEDS)
def test_tree_lstm_by_word(children, seed):
    model = models.tree_lstm(hidden=H, embed=E, vocab=V)
    carried = words(children, V, seed)
    check(model, _lstm_with(carried), Drawn(children, {"word": carried}), model.init_params(seed))


def _lstm_with(carried):
    explicit = {"word": [-1 if word is None else word for word in carried]}
    return lambda params, children, payload: equations.tree_lstm(params, children, explicit, "word")


@given(ANY_TREE, SEEDS)
def test_tree_lstm_by_vector(children, seed):
    model = models.tree_lstm(hidden=H, embed=E, input="vector")
    drawn = Drawn(children, {"x": vectors(children, E, seed)})
    check(model, lambda *args: equations.tree_lstm(*args, "vector"), drawn, model.init_params(seed))


@given(ANY_TREE, SEEDS)
def test_tree_lstm_projected(children, seed):
    model = models.tree_lstm(hidden=H, input="projected")
    drawn = Drawn(children, {f"x_{g}": vectors(children, H, seed + at) for at, g in enumerate("iouf")})
    check(model, lambda *args: equations.tree_lstm(*args, "projected"), drawn, model.init_params(seed))


def test_projected_is_word_with_the_products_given():
    by_word = models.tree_lstm(hidden=H, embed=E, vocab=V)
    projected = models.tree_lstm(hidden=H, input="projected")
    params = by_word.init_params(3)
    children = [[], [], [0, 1], [], [2, 3]]
    carried = [1, 2, None, 4, 5]
    x = [np.zeros(E) if word is None else params["emb"][word] for word in carried]
    given_products = {f"x_{g}": [(params[f"W_{g}"] @ v).astype(np.float32) for v in x] for g in "iouf"}
    whole = ra.evaluate(by_word, params, Drawn(children, {"word": carried}).root)
    part = ra.evaluate(
        projected, {n: params[n] for n in projected.inputs}, Drawn(children, given_products).root
    )
    np.testing.assert_allclose(part["h"], whole["h"], atol=1e-6)


@pytest.mark.parametrize(
    ("model", "shapes"),
    [
        (models.tree_sum(H, V), {"emb": (V, H)}),
        (models.tree_fc(H, V), {"emb": (V, H), "W": (H, 2 * H), "b": (H,)}),
        (
            models.mv_rnn(H, V),
            {"emb": (V, H), "emb_M": (V, H, H), "W": (H, 2 * H), "b": (H,), "W_M": (H, 2 * H)},
        ),
        (
            models.tree_lstm(H, E, V),
            {"emb": (V, E)}
            | {f"W_{g}": (H, E) for g in "iouf"}
            | {f"U_{g}": (H, H) for g in "iouf"}
            | {f"b_{g}": (H,) for g in "iouf"},
        ),
        (
            models.tree_lstm(H, E, input="vector"),
            {f"W_{g}": (H, E) for g in "iouf"}
            | {f"U_{g}": (H, H) for g in "iouf"}
            | {f"b_{g}": (H,) for g in "iouf"},
        ),
        (
            models.tree_lstm(H, E, input="projected"),
            {f"U_{g}": (H, H) for g in "iouf"} | {f"b_{g}": (H,) for g in "iouf"},
        ),
    ],
    ids=["tree_sum", "tree_fc", "mv_rnn", "tree_lstm", "tree_lstm_vector", "tree_lstm_projected"],
)
def test_parameters_have_the_names_and_shapes_of_the_contract(model, shapes):
    params = model.init_params()
    assert {name: array.shape for name, array in params.items()} == shapes
    assert all(array.dtype == np.float32 and array.flags.c_contiguous for array in params.values())


def test_what_the_models_ask_of_structures():
    binary = models.tree_sum(H, V).plan()
    assert (binary.kind, binary.min_children, binary.max_children) == (StructureKind.TREE, 2, 2)
    assert [(p.name, p.required, p.range) for p in binary.payloads] == [("word", Presence.LEAVES, (0, V))]
    any_arity = models.tree_lstm(H, E, V).plan()
    assert (any_arity.min_children, any_arity.max_children, any_arity.positions) == (1, None, ())
    word = any_arity.payloads[0]
    assert (word.required, word.default, word.range) == (Presence.NOWHERE, -1, (0, V))
    vector = models.tree_lstm(H, E, input="vector").plan().payloads[0]
    assert (vector.name, vector.shape, vector.required) == ("x", (E,), Presence.NOWHERE)
    projected = {p.name: p.required for p in models.tree_lstm(H, input="projected").plan().payloads}
    assert projected == dict.fromkeys(("x_i", "x_o", "x_u"), Presence.ALL) | {"x_f": Presence.INNER}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: models.tree_fc(H, V, activation="gelu"),
            'activation=\'gelu\' is unknown\n  at {at}\n  fix: "relu" or "tanh"',
        ),
        (
            lambda: models.tree_lstm(H, E, V, input="words"),
            "input='words' is no way to give a node its input\n  at {at}\n"
            '  fix: "word", "vector" or "projected"',
        ),
        (lambda: models.tree_lstm(H, E), "input='word' needs vocab=\n  at {at}\n  fix: vocab=20_000"),
        (
            lambda: models.tree_lstm(H, input="vector"),
            "input='vector' needs embed=\n  at {at}\n  fix: embed=300",
        ),
    ],
)
def test_arguments_that_are_refused(make, message):
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value) == message.format(at=caught.value.at)
    assert caught.value.at.file == __file__


def test_the_text_of_tree_lstm(golden):
    golden("tree_lstm.txt", repr(models.tree_lstm(256, 300, 20_000)) + "\n")


def test_the_text_of_mv_rnn(golden):
    golden("mv_rnn.txt", repr(models.mv_rnn(64, 20_000)) + "\n")
