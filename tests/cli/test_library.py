"""Models by name."""

import sys

import pytest

from cortex import models
from cortex.cli import library
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


OWN = """
from cortex import models, ra

def vectors(hidden):
    h, x = ra.placeholder((ra.N, hidden)), ra.node_input("x", (hidden,))
    total = lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h[k, i])
    return ra.recursion_op(h, ra.compute((ra.N, hidden), total))

def counts():
    h = ra.placeholder((ra.N,))
    return ra.recursion_op(h, ra.compute((ra.N,), lambda n: 1.0 + ra.sum_children(n, lambda k: h[k])))

def cell(hidden, vocab):
    return models.tree_sum(hidden, vocab)

def number(hidden):
    return hidden

def wide(hidden, classes):
    return cell(hidden, classes)

constant = 3
"""


def test_a_function_of_ones_own(cortex, cortex_json, tmp_path, monkeypatch, trees):
    (tmp_path / "my_cells.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    own = cortex_json("show", "my_cells:cell", "--stage", "ra", "--hidden", 4, "--words", 9)
    assert (
        own["text"] == cortex_json("show", "tree_sum", "--stage", "ra", "--hidden", 4, "--words", 9)["text"]
    )
    assert cortex_json("run", "my_cells:cell", "--trees", trees, "--hidden", 4)["trees"] == 3
    assert "my_cells" not in sys.path and str(tmp_path) not in sys.path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my_cells:constant", "'my_cells:constant' is no function"),
        ("my_cells:other", "has no attribute 'other'"),
        ("no_cells:cell", "No module named 'no_cells'"),
        ("folder/own.py:make", "'folder/own.py:make' is no module:function"),
        ("my_cells:number", "my_cells:number returns int, not a model"),
        ("my_cells:wide", "my_cells:wide: missing a required argument: 'classes'"),
        ("my_cells:wide", "fix: give the argument a default"),
    ],
)
def test_what_is_no_function_of_ones_own(cortex, tmp_path, monkeypatch, name, message):
    (tmp_path / "my_cells.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = cortex("show", name, "--hidden", 4)
    assert result.exit_code == 2 and message in result.stderr


@pytest.mark.parametrize(
    "command", [("run", "--trees"), ("tune", "--seconds", 0, "--trees")], ids=lambda each: each[0]
)
def test_models_that_need_more_than_words(cortex, tmp_path, monkeypatch, trees, command):
    (tmp_path / "my_cells.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    name, *options = command
    result = cortex(name, "my_cells:vectors", *options, trees, "--hidden", 4)
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: my_cells:vectors reads `x`\n"
        "  because: trees in brackets carry words alone\n"
        "  fix: compile it in Python, and call it on structures that carry what it reads\n"
    )
    if name == "run":
        assert cortex(name, "my_cells:counts", *options, trees).exit_code == 0


def test_a_users_function_that_makes_no_model_is_refused(monkeypatch):
    monkeypatch.setitem(library._CONSTRUCTORS, "mine:make", lambda hidden: hidden)
    with pytest.raises(ModelError) as caught:
        build("mine:make", {"hidden": 3})
    assert str(caught.value) == (
        "mine:make returns int, not a model\n"
        "  because: the function of module:function is called with those of hidden=, embed=, vocab= that it takes\n"
        "  fix: return ra.recursion_op(...)"
    )
