"""`cortex show`."""

import pytest

from cortex import models
from cortex.compiler import compile
from cortex.compiler.function import RecursiveFunction


@pytest.mark.parametrize("stage", RecursiveFunction.stages)
def test_a_stage_is_what_the_compiled_function_shows(cortex, stage):
    result = cortex("show", "tree_sum", "--stage", stage, "--hidden", 4, "--words", 9)
    assert result.exit_code == 0, result.output
    model = models.tree_sum(hidden=4, vocab=9)
    assert result.stdout.rstrip("\n") == compile(
        model, model.init_params(), target="cuda" if stage == "cuda" else "cpu"
    ).show(stage).rstrip("\n")


def test_the_code_for_another_target(cortex):
    options = ("--hidden", 4, "--words", 9, "--target", "cuda -arch=sm_80")
    assert ".target sm_80\n" in cortex("show", "tree_sum", "--stage", "asm", *options).stdout
    assert "threads(256)" in cortex("show", "tree_sum", "--stage", "loops", *options).stdout


def test_the_loops_that_a_model_becomes_are_the_default(cortex_json):
    document = cortex_json("show", "tree_lstm", "--hidden", 4, "--input", "vector", "--embed", 3)
    assert document["model"] == "tree_lstm" and document["stage"] == "ilir"
    assert 'program("' in document["text"] and "num_batches" in document["text"]
    assert "x: payload(float32[num_nodes, 3]" in document["text"]


def test_an_unknown_model_or_stage_is_a_usage_error(cortex):
    for arguments in (("show", "tree_lstn"), ("show", "tree_sum", "--stage", "llvm")):
        result = cortex(*arguments)
        assert result.exit_code == 2
        assert "is not one of" in result.stderr


def test_a_refused_value_has_no_place_in_the_code_of_click(cortex):
    result = cortex("show", "tree_rnn", "--input", "letters")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: input='letters' is no way to give a node its input\n"
        '  fix: "word", "vector" or "projected"\n'
    )


def test_an_option_that_the_model_does_not_have_is_refused(cortex):
    result = cortex("show", "tree_sum", "--embed", 3)
    assert result.exit_code == 2
    assert result.stderr == "Error: tree_sum has no --embed\n  because: it takes hidden, vocab\n"


def test_an_input_that_there_is_not_is_refused(cortex):
    result = cortex("show", "tree_lstm", "--input", "wrod")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ") and "wrod" in result.stderr
