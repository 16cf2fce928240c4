"""Compiled models with any number of threads: the same bits, from many callers, on structures of every form."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cortex
from cortex import models
from cortex.compiler.pipeline import passes_for
from cortex.ra.schedule import default_schedule
from ragged.compiled.operations import operations_per_iteration
from ragged.compiled.spin_time import spin_time_by_batch
from ragged.errors import UserError
from ragged.ir.stmt import For, LoopKind
from ragged.ir.walk import statements
from ragged.machine import this_machine
from ragged.passes.pipeline import run_passes

MODELS = {
    "tree_fc": models.tree_fc(hidden=24, vocab=50),
    "tree_lstm": models.tree_lstm(hidden=16, embed=8, vocab=50),
    "mv_rnn": models.mv_rnn(hidden=72, vocab=50),
}

# Columns enough for two workers, whatever the machine's vectors.
WIDE = {
    "tree_lstm": models.tree_lstm(hidden=64, embed=8, vocab=50),
    "mv_rnn": models.mv_rnn(hidden=64, vocab=50),
}


def random_tree(rng: np.random.Generator, leaves: int):
    if leaves == 1:
        return int(rng.integers(50))
    left = int(rng.integers(1, leaves))
    return (random_tree(rng, left), random_tree(rng, leaves - left))


def chain(length: int):
    tree = 1
    for word in range(length):
        tree = (tree, word % 50)
    return tree


def batches():
    rng = np.random.default_rng(0)
    trees = [random_tree(rng, int(leaves)) for leaves in rng.integers(1, 30, 12)]
    return [[], [3], trees[:1], trees, [chain(60), 4]]


@pytest.fixture(scope="module", params=MODELS)
def functions(request):
    model = MODELS[request.param]
    params = model.init_params(seed=0)
    return {threads: cortex.compile(model, params, threads=threads) for threads in (1, 2, 5)}


def all_come(fn: cortex.compiler.RecursiveFunction) -> None:
    """Let calls wait for every worker, however little there is to do and however busy the machine is."""
    fn._spin_ns = lambda nodes, batches: 10**10


def same(a: cortex.compiler.Output, b: cortex.compiler.Output) -> bool:
    names = list(a)
    return all(
        x.tobytes() == y.tobytes()
        for name in names
        for x, y in zip(a.nodes(name), b.nodes(name), strict=True)
    )


def test_the_same_bits_for_any_number_of_threads(functions):
    for batch in batches():
        want = functions[1](batch)
        for threads in (2, 5):
            assert same(functions[threads](batch), want)
            all_come(functions[threads])
            for _ in range(5):
                assert same(functions[threads](batch), want)


@pytest.mark.parametrize("name", ["tree_lstm", "mv_rnn"])
@pytest.mark.parametrize("wide", [1, 3])
def test_the_same_bits_by_nodes_and_by_columns(name, wide):
    """Batches of `wide` nodes for each of two workers and more are shared out by nodes, others by columns."""
    model = WIDE[name]
    params, options = model.init_params(seed=0), cortex.RecursionOptions(min_rows_per_worker=wide)
    one, two = (cortex.compile(model, params, threads=threads, options=options) for threads in (1, 2))
    assert f"s.apply(distribute_over_team, min_rows_per_worker={wide}" in two.show("schedule")
    all_come(two)
    for batch in batches():
        want = one(batch)
        for _ in range(5):
            assert same(two(batch), want)


def test_calls_from_many_threads(functions):
    data = batches()
    want = [functions[1](batch) for batch in data]

    def work(seed: int) -> bool:
        return all(same(functions[2](data[(seed + i) % 5]), want[(seed + i) % 5]) for i in range(20))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))


@pytest.mark.parametrize("name", MODELS)
def test_every_library_model_is_shared_out(name):
    program = default_schedule(MODELS[name]).lower()
    steps = {threads: run_passes(program, passes_for(threads)) for threads in (1, 2)}
    assert next(s.kind for s in loops(steps[2][-1].program)) is LoopKind.TEAM
    (log,) = (step.notes for step in steps[2] if step.name == "default_schedule")
    assert any(line.startswith("s.apply(distribute_over_team") for line in log)
    assert not any("one worker" in line for line in log)
    assert not any(loop.kind is LoopKind.TEAM for loop in loops(steps[1][-1].program))


def loops(program):
    return (stmt for stmt in statements(program.kernel) if isinstance(stmt, For))


def test_large_temporaries_are_each_worker_s_own():
    model = models.mv_rnn(hidden=144, vocab=5)
    fn = cortex.compile(model, model.init_params(seed=0), threads=2, target="llvm -mcpu=x86-64-v4")
    loops = fn.show("loops")
    assert re.search(r"workspace\(float32\[workers, 144, \d+\]", loops)
    assert "workspace(float32[num_nodes, 144, 144]" not in loops


def test_patience_is_what_a_call_gains():
    operations = operations_per_iteration(default_schedule(MODELS["tree_fc"]).lower().kernel)
    one, two, ten = (spin_time_by_batch(operations, threads, columns=False) for threads in (1, 2, 10))
    assert two(1, 1) == 0 and one(10**6, 10) == 0
    assert two(10**6, 10**6) == 0, "a chain"
    assert 0 < two(10**4, 100) < ten(10**4, 100) <= 1_000_000


@pytest.mark.parametrize(("hidden", "waits"), [(16, False), (32, False), (256, True)])
def test_workers_share_the_columns_of_a_chain(hidden, waits, tmp_path):
    """Of a chain there are no nodes to share: columns are, where there are enough for each worker's vectors."""
    model = models.lstm(hidden=hidden, input="projected")
    fn = cortex.compile(model, model.init_params(seed=0), threads=2)
    fn.save(tmp_path / "m.cortex")
    for each in (fn, cortex.load(tmp_path / "m.cortex")):
        assert each._parts.kernel.kernel.shares_columns == (hidden >= 2 * this_machine().lanes(4))
        assert (each._spin_ns(100, 100) > 0) == waits, "a batch of one small node is not worth meeting at"


@pytest.mark.parametrize("threads", [0, -2, 2**31, True, 1.5, "two"])
def test_threads_that_are_no_number(threads):
    with pytest.raises(UserError) as error:
        cortex.compile(MODELS["tree_fc"], {}, threads=threads)
    assert str(error.value) == f"threads={threads!r} is not a number of workers\n  fix: 1 to 4096, or None"
