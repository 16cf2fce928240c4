"""Python's work in a call: exactly as much for a thousand trees as for one."""

from __future__ import annotations

import pytest

import cortex
from cortex import models
from tests.support.python_work import calls, opcodes

MODELS = {
    "tree_lstm": models.tree_lstm(hidden=8, embed=6, vocab=50),
    "mv_rnn": models.mv_rnn(hidden=8, vocab=50),
    "tree_fc": models.tree_fc(hidden=8, vocab=50),
}
BATCHES = [
    [[((1, 2), (3, 4))]],
    [[(i % 50, (1, (2, 3))) for i in range(1000)]],
    [[((1, 2), 3), 7, ((((1, 2), 3), 4), 5)]],
    [[3]],
]


@pytest.mark.parametrize("counted", [opcodes, calls])
@pytest.mark.parametrize(
    ("name", "keep", "threads"),
    [("tree_lstm", "nodes", 2), ("tree_lstm", "roots", 1), ("mv_rnn", "nodes", 2), ("tree_fc", "nodes", 1)],
)
def test_the_same_for_any_batch(name, keep, threads, counted):
    fn = cortex.compile(MODELS[name], MODELS[name].init_params(seed=0), threads=threads, keep=keep)
    found = {"call": set(), "linearize": set(), "call on linearized": set(), "results": set()}
    for (batch,) in BATCHES:
        linearized = fn.linearize(batch)
        out = fn(batch)
        found["call"].add(counted(lambda batch=batch: fn(batch)))
        found["linearize"].add(counted(lambda batch=batch: fn.linearize(batch)))
        found["call on linearized"].add(counted(lambda batch=linearized: fn(batch)))
        found["results"].add(counted(lambda out=out: [out[name] for name in out]))
    assert {what: len(counts) for what, counts in found.items()} == dict.fromkeys(found, 1), found
    if counted is calls:
        assert max(found["call on linearized"]) < 25
