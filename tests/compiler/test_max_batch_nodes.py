"""Batches of at most so many nodes: what they are, that no bit depends on it, and how many there are by default."""

from __future__ import annotations

import numpy as np
import pytest

import cortex
from cortex import Node, RecursionOptions, models, ra
from cortex.linearize import linearize
from cortex.ra.schedule import default_schedule
from ragged.errors import DataError, ScheduleError, UserError
from tests.compiler.test_cuda import TARGET

MODEL = models.tree_lstm(9, 5, 7)
PAIRS = [((k, 1), (2, (k, 4))) for k in range(5)]


@pytest.mark.parametrize(
    ("widest", "keep"),
    [
        (1, "roots"),
        (5, "nodes"),
        pytest.param(1, "nodes", marks=pytest.mark.thorough),
        pytest.param(5, "roots", marks=pytest.mark.thorough),
    ],
)
def test_no_bit_of_a_result_depends_on_it(widest, keep):
    params = MODEL.init_params(seed=4)
    whole, divided = (
        cortex.compile(MODEL, params, threads=2, keep=keep, options=RecursionOptions(max_batch_nodes=each))
        for each in (None, widest)
    )
    assert divided.show("loops") == whole.show("loops")
    batch = divided.linearize(PAIRS)
    assert whole.linearize(PAIRS).batch_length.tolist() == [25, 10, 5, 5]
    assert batch.widest_nodes <= widest and sum(batch.batch_length) == 45
    wanted = whole(PAIRS)
    for out in (divided(PAIRS), whole(batch), divided(whole.linearize(PAIRS))):
        for name in wanted:
            np.testing.assert_array_equal(out[name], wanted[name])


def test_a_batch_has_a_part_of_each_quarter():
    schedule = ra.Schedule(MODEL)
    schedule.dynamic_batch(max_batch_nodes=8)
    pairs = [((k % 7, 1), 2) for k in range(10)]
    batch = linearize(schedule.plan(), pairs)
    # Of ten nodes of each height the quarters are 0 1 2, 3 4 5, 6 7 and 8 9: of each first two, then what is left.
    assert batch.batch_length.tolist() == [30, 8, 2, 8, 2]
    assert batch.roots.tolist() == [2, 3, 0, 4, 5, 1, 6, 7, 8, 9]


def test_a_narrow_batch_takes_less_memory():
    trees = [((1, 2), 3)] * 1000
    fn = cortex.compile(
        MODEL, MODEL.init_params(), threads=1, keep="roots", options=RecursionOptions(max_batch_nodes=8)
    )
    batch = fn.linearize(trees)
    assert batch.widest_nodes == 8 and batch.widest_edges == 16
    # Leaves, and eight nodes before the first of them are not needed any more.
    assert batch.storage_rows == 3000 + 8
    whole = linearize(default_schedule(MODEL, max_batch_nodes=5000).plan(roots_alone=True), trees)
    assert whole.widest_nodes == 1000 and whole.storage_rows == 3000 + 1000


def test_as_many_by_default_as_a_cache_has_room_for():
    logs = [default_schedule(models.tree_lstm(h, h, 7)).log().splitlines()[0] for h in (256, 16, 4)]
    assert logs == [f"s.dynamic_batch(max_batch_nodes={widest})" for widest in (96, 1920, 7680)]


def test_no_more_than_are_work_enough():
    """At 256 a node of DAG-RNN reads 256 KiB of weights, one of TreeFC 512: 160 times and 80 are enough."""
    cells = (models.dag_rnn(256, 256), models.tree_fc(256, 7), models.tree_fc(64, 7))
    assert [default_schedule(cell).plan().widest for cell in cells] == [192, 96, 1344]


def test_more_where_weights_are_larger_than_the_cache():
    """The weights of the recursion: neither those of inputs, which are read before, nor a table that is looked up."""
    for embed, vocab in ((1, 7), (2048, 7), (1, 1_000_000)):
        wide = [default_schedule(models.tree_lstm(h, embed, vocab)).plan().widest for h in (1024, 256)]
        # Four matrices of four megabytes: the cache eight times. And four of a sixteenth of that.
        assert wide == [8 * 96, 96]


def test_batches_of_functions_that_are_unrolled_or_not():
    """They are of different plans, and said to be, whatever both say of how wide a batch is."""
    model = models.tree_sum(hidden=4, vocab=7)
    params = model.init_params()
    plain, unrolled = (
        cortex.compile(model, params, options=RecursionOptions(unroll=depth)) for depth in (0, 1)
    )
    for taken, given in ((plain, unrolled), (unrolled, plain)):
        with pytest.raises(DataError, match="was linearized for another plan"):
            taken(given.linearize(PAIRS))


def test_a_step_of_an_unrolled_recursion_is_whole():
    schedule = default_schedule(MODEL, max_batch_nodes=2)
    assert schedule.plan().widest == 2
    schedule.unroll(1)
    assert schedule.plan().widest is None
    assert linearize(schedule.plan(), PAIRS).batch_length.tolist() == [25, 10, 5, 5]


def test_a_gpu_takes_whole_heights():
    model = models.tree_fc(hidden=4, vocab=7)
    fn = cortex.compile(
        model, model.init_params(), target=TARGET, options=RecursionOptions(max_batch_nodes=2)
    )
    assert fn.plan.widest is None


def test_many_nodes_of_one_height():
    fn = cortex.compile(MODEL, MODEL.init_params(), threads=2)
    trees = [Node([Node(word=1), Node(word=k % 7)]) for k in range(20_000)]
    batch = fn.linearize(trees)
    assert fn.plan.widest is not None and batch.widest_nodes == fn.plan.widest
    assert batch.num_batches > 2
    seven = fn(trees[:7])["h"]  # after which words repeat
    np.testing.assert_array_equal(fn(batch)["h"], seven[np.arange(20_000) % 7])


@pytest.mark.parametrize("widest", [0, -1, True, 2.0])
def test_what_is_no_width(widest):
    with pytest.raises(ScheduleError) as refusal:
        ra.Schedule(MODEL).dynamic_batch(widest)
    first, _, fix = str(refusal.value).splitlines()
    assert first == f"dynamic_batch: max_batch_nodes={widest!r} is no number of nodes"
    assert fix == "  fix: a whole number from 1 on, or None for any number"
    with pytest.raises(UserError) as error:
        RecursionOptions(max_batch_nodes=widest)
    assert str(error.value) == f"options: max_batch_nodes={widest!r} is not a number from 1 up"
