"""`cortex bisect`."""

from dataclasses import replace

import pytest

from ragged.auto import tile_products
from tests.compiler.test_bisect import OneMore


@pytest.mark.parametrize("model", ["tree_lstm", "lstm", "dag_rnn"])
def test_a_library_model_has_no_wrong_step(cortex, model):
    result = cortex("bisect", model, "--hidden", 4)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "every step leaves a program that computes what the model says"


def test_a_wrong_step_is_named_with_what_it_changed(cortex, monkeypatch):
    vectorize = tile_products.vectorize

    def planted(program, *args):
        done = vectorize(program, *args)
        return replace(done, program=OneMore().program(done.program).program)

    planted.__name__ = "vectorize"
    monkeypatch.setattr(tile_products, "vectorize", planted)
    result = cortex("bisect", "tree_fc", "--hidden", 16)
    assert result.exit_code == 1
    assert "first wrong step, of pass default_schedule: s.apply(vectorize, " in result.stdout
    assert "is off by" in result.stdout and "+++ after" in result.stdout
