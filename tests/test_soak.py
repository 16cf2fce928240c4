"""`bench.soak`: a short run finds nothing, and a planted leak is found."""

from __future__ import annotations

import json

import pytest

import cortex
from bench import soak
from bench.soak import Look, Worker


def looks(**growth: int) -> list[Look]:
    """Return what a run of a million calls saw, with so much more of something after each round."""
    still = {"resident": 10**8, "blocks": 10**5, "workspaces": 10**6, "threads": 1, "files": 5}
    rounds = range(1, soak.ROUNDS + 1)
    return [
        Look(25_000 * i, 1.0 * i, **{name: value + i * growth.get(name, 0) for name, value in still.items()})
        for i in rounds
    ]


def test_a_short_run(tmp_path, capsys):
    path = tmp_path / "soak.json"
    assert soak.main(["--calls", "4000", "--json", str(path)]) == 0
    result = json.loads(path.read_text(encoding="utf-8"))
    assert result["faults"] == [] and result["helpers"] >= result["threads"] - 1  # other tests' helpers stay
    assert result["compared"] > 10 and result["refused"] > 10
    assert f"calls: {result['calls']}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("growth", "said"),
    [
        ({"resident": 25_000 * 4}, "resident grew by 1500000, over 1411076"),
        ({"blocks": 100}, "blocks grew by 1500, over 1000"),
        ({"workspaces": 1 << 18}, "workspaces grew by 3932160, over 1048576"),
        ({"threads": 1}, "threads grew by 15, over 0"),
        ({"files": 1}, "files grew by 15, over 0"),
        ({}, None),
    ],
)
def test_what_grows_is_said(growth, said):
    others = len(soak.thread_names()) - soak.helpers()
    assert soak.judge(looks(**growth), others, 0.0) == ([said] if said else [])


def test_a_busy_process_and_a_thread_too_many_are_said():
    others = len(soak.thread_names()) - soak.helpers()
    assert soak.judge(looks(), others, 0.5) == ["it computes for 0.5 s in a second of idleness"]
    assert "of threads there should be" in soak.judge(looks(), others - 1, 0.0)[0]


def test_wrong_answers_are_said():
    model = cortex.models.tree_lstm(hidden=4, embed=4, vocab=9)
    fn = cortex.compile(model, model.init_params(seed=0), threads=1)
    right = soak.bits(fn((1, 2)))
    for case, said in (
        (soak.Case((1, 2), right), []),
        (soak.Case((1, 3), right), ["an answer has other bits"]),
        (soak.Case((1, 2), None), ["what the model does not take was not refused"]),
        (soak.Case((1, 99), right), ["what the model takes was refused"]),
    ):
        worker = Worker(fn, [case], seed=0)
        worker.run(400)
        assert list(dict.fromkeys(worker.faults)) == said
