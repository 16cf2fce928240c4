"""Kernels that another process compiles: `cortex.compile` finds them in the cache."""

import pickle

import pytest

import cortex
from cortex import RecursionOptions, models
from cortex.compiler.compile_later import compile_later

MODELS = {"tree_lstm": models.tree_lstm(4, 4, 7), "mv_rnn": models.mv_rnn(4, 7), "gru": models.gru(4, 4, 7)}


@pytest.mark.parametrize("name", MODELS)
def test_the_code_is_in_the_cache_afterwards(name, cache_dir, monkeypatch):
    model, options = MODELS[name], RecursionOptions(reduction_unroll=2)
    job = compile_later(model, options=options, threads=1, children="parts")
    pickle.loads(pickle.dumps(job))()
    monkeypatch.setattr("cortex.compiler.pipeline.generate_kernel", None)
    fn = cortex.compile(model, model.init_params(seed=0), options=options, threads=1, cache=True)
    assert "# reduction_unroll=2 is set" in fn.show("schedule")
