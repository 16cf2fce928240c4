"""The benchmark of a recursive model's optimizations as its command runs it, small."""

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import cortex
from bench import optimizations
from bench.optimizations import VARIANTS, compiled, measure
from bench.rewritings import REWRITINGS
from bench.trees import read_treebank
from bench.workloads import WORKLOADS, make_case
from cortex.compiler.options import scheduled
from cortex.data import sample_treebank

ROOT = Path(__file__).resolve().parents[2]


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "bench.optimizations", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def case(name="tree_fc"):
    treebank = read_treebank(sample_treebank())
    return make_case(WORKLOADS[name], 16, treebank, [2], rounds=1, threads=2)


def test_the_command(tmp_path):
    path = tmp_path / "optimizations.json"
    arguments = ("--workloads", "tree_gru_recursive", "--rewritten", "simple_tree_gru")
    done = command("--quick", *arguments, "--batch", 2, "--rounds", 2, "--json", path)
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text(encoding="utf-8"))
    rows = result["rows"]
    assert [row["variant"] for row in rows] == [variant.name for variant in VARIANTS]
    assert rows[0]["gain"] == 1.0
    for row in rows:
        assert (row["workload"], row["hidden"], row["batch"]) == ("tree_gru_recursive", 16, 2)
        assert 0 < row["us"]["low"] <= row["us"]["median"] <= row["us"]["high"]
        assert row["gain"] == pytest.approx(rows[0]["us"]["median"] / row["us"]["median"])
        assert row["variant"] in done.stdout
    rewritten = [
        (row["workload"], row["hidden"], row["batch"], row["variant"]) for row in result["rewritten"]
    ]
    assert rewritten == [
        ("simple_tree_gru", 16, 2, "as it is"),
        ("simple_tree_gru", 16, 2, "Uh_r and Uh_z of the parent"),
    ]
    assert {"threads", "trees", "rounds", "seed"} == set(result["settings"])


def test_rewritings_rewrite():
    """A variant has another kernel than the model as it is, and each model has at least one."""
    for rewriting in REWRITINGS.values():
        model = rewriting.build(16, 16, 10)
        (_, plain), *others = rewriting.options.items()
        assert plain == cortex.RecursionOptions() and others
        for _, options in others:
            assert scheduled(model, options).log() != scheduled(model, plain).log()


def test_what_is_not_known():
    done = command("--workloads", "novels")
    assert done.returncode == 2 and "no workload is called 'novels': tree_fc, " in done.stderr


def test_each_variant_has_what_those_before_it_have():
    for before, after in pairwise(VARIANTS):
        assert set(before.on) <= set(after.on) and before.team <= after.team and before != after
    every = compiled(case(), VARIANTS[-1], 2)
    assert "is set; " not in every.show("schedule")
    first = compiled(case(), VARIANTS[0], 2)
    assert "dynamic_batch" not in first.show("schedule")


def test_a_variant_that_is_wrong_is_not_timed(monkeypatch):
    wrong = replace(VARIANTS[1], name="wrong")
    made = optimizations.compiled

    def other(given, variant, threads):
        if variant is wrong:
            job = replace(given.job, params={name: 2 * each for name, each in given.job.params.items()})
            given = replace(given, job=job)
        return made(given, variant, threads)

    monkeypatch.setattr(optimizations, "compiled", other)
    with pytest.raises(SystemExit, match=r"tree_fc, wrong: off by \d"):
        measure(case(), [VARIANTS[0], wrong], 1, 1)
