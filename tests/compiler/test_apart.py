"""Whole structures for each worker: the bits of what is shared out otherwise, what is checked, and who has none."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cortex
from cortex import Choices, models, ra
from cortex.ra.schedule import default_schedule
from ragged.errors import DataError
from tests.compiler.test_library import EMBED, HIDDEN, VOCAB, of_all_sizes
from tests.models.library import LIBRARY, payloads
from tests.models.structures import Drawn
from tests.support.agreement import BOUND, error

MODEL = models.tree_lstm(hidden=32, embed=8, vocab=10)
PARAMS = MODEL.init_params(seed=3)


def structures(name, hidden, count, seed=0):
    """Return structures of a model of the library, of a few sizes, several of each."""
    entry, input = LIBRARY[name], "vector" if name == "dag_rnn" else "word"
    rows = [each for each in of_all_sizes(name) if len(each) < 400]
    random = np.random.default_rng(seed)
    drawn = [rows[k] for k in random.integers(0, len(rows), count)]
    carried = [payloads(entry, input, each, hidden, EMBED, VOCAB, seed + k) for k, each in enumerate(drawn)]
    return [Drawn(*pair).root for pair in zip(drawn, carried, strict=True)]


@cache
def function():
    """Return the function of the small model, for two threads."""
    return cortex.compile(MODEL, PARAMS, threads=2)


@cache
def alone(name):
    """Return a model's parameters, and its function for one thread."""
    hidden = HIDDEN.get(name, 32)
    input = "vector" if name == "dag_rnn" else "word"
    model = LIBRARY[name].make(hidden=hidden, embed=EMBED, vocab=VOCAB, input=input)
    params = model.init_params(seed=7)
    return model, params, cortex.compile(model, params, threads=1)


@pytest.mark.parametrize(
    ("name", "threads", "keep"),
    [
        ("tree_lstm", 2, "nodes"),
        ("dag_rnn", 3, "roots"),
        *(pytest.param(name, 2, "nodes", marks=pytest.mark.thorough) for name in ("nary_tree_lstm", "lstm")),
        pytest.param("tree_lstm", 3, "roots", marks=pytest.mark.thorough),
    ],
)
def test_the_bits_of_what_one_thread_computes(name, threads, keep):
    model, params, one = alone(name)
    batch = structures(name, HIDDEN.get(name, 32), 40)
    apart = cortex.compile(model, params, threads=threads, keep=keep)
    assert apart.plan.parted
    counted = set()
    for some in (batch, batch[:12], batch[3:9], batch[:2], batch[:1], []):
        counted.add(apart.linearize(some).num_parts)
        got, want = apart(some), one(some)
        for key in want:
            np.testing.assert_array_equal(got[key], want[key])
            if keep == "nodes":
                for mine, others in zip(got.nodes(key), want.nodes(key), strict=True):
                    np.testing.assert_array_equal(mine, others)
    assert counted == {1, threads}


@settings(max_examples=20)
@given(seed=st.integers(0, 2**16), count=st.integers(2, 40))
def test_structures_of_any_size_agree_with_the_oracle(seed, count):
    random = np.random.default_rng(seed)

    def tree(leaves):
        if leaves == 1:
            return int(random.integers(10))
        left = int(random.integers(1, leaves))
        return tree(left), tree(leaves - left)

    batch = [tree(int(leaves)) for leaves in random.integers(1, 20, count)]
    got, want = function()(batch), ra.evaluate(MODEL, PARAMS, batch)
    for key in ("h", "c"):
        for mine, oracle in zip(got.nodes(key), want, strict=True):
            assert error(mine, oracle[key]) <= BOUND


def test_nobody_waits_in_the_loop_over_batches():
    lines = function().show("loops").splitlines()
    step = next(k for k, line in enumerate(lines) if "for step in serial(num_batches - 1" in line)
    meetings = [k for k in range(step, len(lines)) if lines[k].strip() == "barrier(team)"]
    assert meetings and all("not num_parts == workers" in lines[k - 1] for k in meetings)
    assert "s.part_structures()" in function().show("schedule")


BATCH = [((1, 2), 3), ((4, 5), 6), 7, 8]


@pytest.mark.parametrize("exchanged", ["part", "part_begin", "child"])
def test_what_is_relied_on_is_checked(exchanged):
    batch = function().linearize(BATCH)
    assert batch.num_parts == 2
    array = getattr(batch, exchanged).copy()
    if exchanged == "child":
        array[[0, 2]] = array[[2, 0]]  # the root's first child and the other root's are of two parts
    else:
        array.flat[1] += 1
    with pytest.raises(DataError, match="part"):
        function()(replace(batch, **{exchanged: array}))


@pytest.mark.thorough
def test_batches_of_other_functions():
    """One without parts, one of other parts than there are workers."""
    want = function()(BATCH)["h"]
    alone = cortex.compile(MODEL, PARAMS, threads=1)
    three = cortex.compile(MODEL, PARAMS, threads=3)
    for maker in (function(), alone, three):
        for user in (function(), alone, three):
            np.testing.assert_array_equal(user(maker.linearize(BATCH))["h"], want)


def test_saved_and_loaded(tmp_path):
    function().save(tmp_path / "m.cortex")
    for threads in (1, 2, 4):
        loaded = cortex.load(tmp_path / "m.cortex", threads=threads)
        assert loaded.linearize(BATCH).num_parts == (threads if threads < 4 else 1)
        np.testing.assert_array_equal(loaded(BATCH)["h"], function()(BATCH)["h"])


def unrolled():
    schedule = default_schedule(MODEL)
    schedule.unroll(1)
    return schedule


def with_classes():
    schedule = default_schedule(MODEL)
    schedule.specialize(lambda n: ra.num_children(n) == 2)
    return schedule


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (MODEL, {"threads": 1}),
        (MODEL, {"threads": 2, "choices": Choices(apart=False)}),
        pytest.param(unrolled(), {"threads": 2}, marks=pytest.mark.thorough),
        pytest.param(with_classes(), {"threads": 2}, marks=pytest.mark.thorough),
        (models.dag_rnn(hidden=1024, embed=16), {"threads": 2}),
    ],
    ids=["one thread", "as chosen", "unrolled", "classes", "large matrices"],
)
def test_who_has_no_parts(model, options):
    params = model.init_params(0) if isinstance(model, ra.Model) else PARAMS
    made = cortex.compile(model, params, **options)
    assert not made.plan.parted
    assert "num_parts" not in made.show("loops")


def test_roots_alone_of_many_nodes_have_no_parts():
    made = cortex.compile(MODEL, PARAMS, threads=2, keep="roots")
    assert made.plan.most_apart == (1 << 20) // (2 * 32 * 4)
    few, many = made.linearize(BATCH), made.linearize([tuple(BATCH[0])] * 1000)
    assert (few.num_parts, many.num_parts) == (2, 1)
    assert few.storage_rows == few.num_nodes and many.storage_rows < many.num_nodes
