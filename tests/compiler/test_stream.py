"""Streams of batches: what calls return, in order, with the next batch linearized meanwhile or not."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import cortex
from cortex import models
from cortex.compiler import stream as room
from ragged.errors import DataError


@pytest.fixture(scope="module")
def fn():
    model = models.tree_rnn(hidden=8, embed=6, vocab=50)
    return cortex.compile(model, model.init_params(seed=0), threads=1)


@pytest.fixture(params=[0.0, float("inf")], ids=["ahead", "in turn"])
def worth(request, monkeypatch):
    """Give every batch to the other thread, or none."""
    monkeypatch.setattr(room, "WORTH", request.param)
    return request.param


BATCHES = [[(1, 2), (3, (4, 5))], [7], (1, (2, 3)), [], [((1, 2), (3, 4))] * 5]


def test_the_results_of_calls_in_order(fn, worth):
    outs = list(fn.stream(iter(BATCHES)))
    assert len(outs) == len(BATCHES)
    for out, batch in zip(outs, BATCHES, strict=True):
        want = fn(batch)
        assert out.num_structures == want.num_structures
        np.testing.assert_array_equal(out["h"], want["h"])
        for mine, theirs in zip(out.nodes("h"), want.nodes("h"), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert list(fn.stream([])) == []


def test_batches_are_read_one_ahead_at_most(fn, worth):
    read = []

    def batches():
        for number, batch in enumerate(BATCHES):
            read.append(number)
            yield batch

    for done, _ in enumerate(fn.stream(batches())):
        assert len(read) <= done + 2


def test_an_error_comes_in_its_turn_and_ends_the_stream(fn, worth):
    results = fn.stream([[(1, 2)], [(1, 99)], [(1, 2)]])
    np.testing.assert_array_equal(next(results)["h"], fn([(1, 2)])["h"])
    with pytest.raises(DataError, match="99"):
        next(results)
    assert list(results) == []


def test_what_is_wrong_with_the_source_is_raised_too(fn, worth):
    def broken():
        yield [(1, 2)]
        raise OSError("the disk is gone")

    results = fn.stream(broken())
    next(results)
    with pytest.raises(OSError, match="the disk is gone"):
        next(results)


def test_a_stream_that_is_left_leaves_no_thread(fn, worth):
    before = threading.active_count()
    results = fn.stream(BATCHES)
    next(results)
    results.close()
    assert threading.active_count() == before


def test_batches_are_linearized_in_another_thread_where_that_takes_long(fn, worth):
    threads = []

    def batches():
        for batch in BATCHES:
            threads.append(threading.current_thread().name)
            yield batch

    list(fn.stream(batches()))
    other = [name for name in threads if name.startswith("cortex-linearize")]
    assert len(other) == (len(BATCHES) - 1 if worth == 0.0 else 0)
