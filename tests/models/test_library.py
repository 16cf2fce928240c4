"""Every model with an input, in each of the ways to give it: the oracle against the equations in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex import models, ra
from cortex.ilir.plan import Presence, StructureKind
from ragged.errors import ModelError, UserError
from tests.models.library import INPUTS, LIBRARY, expected, payloads
from tests.models.structures import Drawn
from tests.support.python_work import calls

H, E, V = 3, 2, 7


@pytest.mark.parametrize("input", INPUTS)
@pytest.mark.parametrize("name", LIBRARY)
@settings(max_examples=25)
@given(data=st.data(), seed=st.integers(0, 2**16))
def test_the_oracle_computes_the_equations(name, input, data, seed):
    entry = LIBRARY[name]
    model = entry.make(hidden=H, embed=E, vocab=V, input=input)
    children = data.draw(entry.structures)
    payload = payloads(entry, input, children, H, E, V, seed)
    params = model.init_params(seed)
    wide = {key: array.astype(np.float64) for key, array in params.items()}
    got = ra.evaluate(model, params, Drawn(children, payload).root)
    want = expected(entry, input, wide, children, payload, E)
    assert list(got) == list(model.outputs) == list(want)
    for key, array in want.items():
        np.testing.assert_allclose(got[key], array, rtol=1e-12, atol=1e-13)


def gated(gates, *recurrent):
    """Shapes of a model with gates of recurrent matrices with these extents before (H, H)."""
    return (
        {"emb": (V, E)}
        | {f"W_{g}": (H, E) for g in gates}
        | {f"U_{g}": (*recurrent, H, H) for g in gates}
        | {f"b_{g}": (H,) for g in gates}
    )


SHAPES = {
    "tree_rnn": {"emb": (V, E), "W": (H, E), "U": (H, H), "b": (H,)},
    "tree_lstm": gated("iouf"),
    "nary_tree_lstm": gated("iouf", 2) | {"U_f": (2, 2, H, H)},
    "ternary_tree_lstm": gated("iouf", 3) | {"U_f": (3, 3, H, H)},
    "tree_gru": gated("rzg"),
    "simple_tree_gru": gated("rzg"),
    "dag_rnn": {"emb": (V, E), "W": (H, E), "U": (H, H), "b": (H,)},
    "dag_rnn_tanh": {"emb": (V, E), "W": (H, E), "U": (H, H), "b": (H,)},
    "lstm": gated("iouf"),
    "gru": gated("rzg"),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_parameters_have_the_names_and_shapes_of_the_contract(name):
    entry, shapes = LIBRARY[name], SHAPES[name]
    without = {"word": (), "vector": ("emb",), "projected": ("emb", "W")}
    for input, missing in without.items():
        params = entry.make(hidden=H, embed=E, vocab=V, input=input).init_params()
        left = {key: shape for key, shape in shapes.items() if key.split("_")[0] not in missing}
        assert {key: array.shape for key, array in params.items()} == left
        assert all(array.dtype == np.float32 and array.flags.c_contiguous for array in params.values())


@pytest.mark.parametrize("seed", [None, -1, 1.5, "x", True])
def test_a_seed_is_an_integer(seed):
    with pytest.raises(UserError, match=f"init_params: seed={seed!r} is no integer from 0 up"):
        models.tree_rnn(H, E, V).init_params(seed)


def test_word_is_the_default_and_vector_that_of_dag_rnn():
    for name, entry in LIBRARY.items():
        if not name.startswith("dag_rnn"):
            assert list(entry.make(hidden=H, embed=E, vocab=V).payloads) == ["word"]
    assert list(models.dag_rnn(H, E).payloads) == ["x"]


def test_dag_rnn_takes_a_vocabulary_where_input_is_given():
    assert list(models.dag_rnn(H, E, input="word", vocab=V).payloads) == ["word"]
    with pytest.raises(ModelError, match=f"vocab={V} is given, and input='vector' reads no word"):
        models.dag_rnn(H, E, vocab=V)


@pytest.mark.parametrize("name", LIBRARY)
def test_a_vocabulary_is_for_words(name):
    make = LIBRARY[name].function
    assert repr(make(hidden=H, embed=E, input="projected")) == repr(make(hidden=H, input="projected"))
    for input in ("vector", "projected"):
        with pytest.raises(ModelError, match=f"vocab={V} is given, and input='{input}' reads no word"):
            make(hidden=H, embed=E, vocab=V, input=input)


def test_what_the_models_ask_of_structures():
    plans = {
        name: entry.make(hidden=H, embed=E, vocab=V, input="word").plan() for name, entry in LIBRARY.items()
    }
    tree, dag, sequence = StructureKind.TREE, StructureKind.DAG, StructureKind.SEQUENCE
    assert {name: (p.kind, p.min_children, p.max_children, p.positions) for name, p in plans.items()} == {
        **dict.fromkeys(("tree_rnn", "tree_lstm", "tree_gru", "simple_tree_gru"), (tree, 1, None, ())),
        "nary_tree_lstm": (tree, 0, 2, (0, 1)),
        "ternary_tree_lstm": (tree, 0, 3, (0, 1, 2)),
        **dict.fromkeys(("dag_rnn", "dag_rnn_tanh"), (dag, 1, None, ())),
        **dict.fromkeys(("lstm", "gru"), (sequence, 1, 1, (0,))),
    }


@pytest.mark.parametrize("name", ["lstm", "nary_tree_lstm", "ternary_tree_lstm", "tree_lstm"])
def test_nothing_is_forgotten_at_leaves(name):
    plan = LIBRARY[name].make(hidden=H, input="projected").plan()
    required = {p.name: p.required for p in plan.payloads}
    assert required == dict.fromkeys(("x_i", "x_o", "x_u"), Presence.ALL) | {"x_f": Presence.INNER}


@pytest.mark.parametrize("name", ["gru", "tree_gru", "simple_tree_gru"])
def test_nothing_is_reset_at_leaves(name):
    plan = LIBRARY[name].make(hidden=H, input="projected").plan()
    required = {p.name: p.required for p in plan.payloads}
    assert required == {"x_z": Presence.ALL, "x_g": Presence.ALL, "x_r": Presence.INNER}


def test_an_arity_that_allows_no_recursion():
    with pytest.raises(ModelError, match="nary_tree_lstm: arity=0 allows no recursion"):
        models.nary_tree_lstm(H, E, V, arity=0)


def test_an_activation_that_is_unknown():
    with pytest.raises(ModelError, match="activation='elu' is unknown"):
        models.dag_rnn(H, E, activation="elu")


def test_building_a_model_calls_few_functions():
    """Its checks share the sites of expressions, and these have no ABC: either would be as many calls again."""
    assert calls(lambda: models.nary_tree_lstm(hidden=8, embed=6, vocab=50, arity=3)) < 95_000
