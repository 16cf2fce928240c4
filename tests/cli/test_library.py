"""Models by name."""

import pytest

from cortex import models
from cortex.cli.library import MODEL, build, sizes_in, with_defaults
from ragged.errors import ModelError


def test_the_names_are_those_of_the_constructors():
    assert set(MODEL.choices) == set(models.__all__) - {"from_torch"}


@pytest.mark.parametrize("name", MODEL.choices)
def test_sizes_are_read_from_the_shapes_of_parameters(name):
    sizes = {"hidden": 3, "embed": 5, "vocab": 7}
    model = build(name, sizes)
    found = sizes_in(name, model.init_params())
    assert found == {key: sizes[key] for key in found}
    assert {"hidden", "vocab"} <= set(found)
    assert repr(build(name, sizes | found)) == repr(model)


def test_parameters_of_another_model_say_nothing_wrong():
    params = models.mv_rnn(hidden=3, vocab=7).init_params()
    assert sizes_in("tree_lstm", {"W": params["W"], "U_i": params["emb_M"]}) == {}


def test_an_embedding_is_as_wide_as_the_state_by_default():
    assert with_defaults("tree_lstm", {"hidden": None, "embed": None}, hidden=8, vocab=9) == {
        "hidden": 8,
        "embed": 8,
        "vocab": 9,
    }
    assert with_defaults("tree_lstm", {"hidden": 4}, hidden=8, vocab=9)["embed"] == 4


def test_an_option_that_a_model_does_not_have_is_refused():
    with pytest.raises(ModelError) as caught:
        with_defaults("mv_rnn", {"embed": 3}, hidden=8, vocab=9)
    assert str(caught.value) == "mv_rnn has no --embed\n  because: it takes hidden, vocab"
