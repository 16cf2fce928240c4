"""Policies: orders of iterations by the work that each has."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged.errors import DataError
from ragged.runtime.orders import dealt, longest_first, share_begins


@given(st.lists(st.integers(0, 50), max_size=40))
def test_longest_first(lengths):
    order = longest_first(np.array(lengths, np.int32))
    assert order.dtype == np.int32 and sorted(order) == list(range(len(lengths)))
    assert list(order) == sorted(range(len(lengths)), key=lambda row: -lengths[row])


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 6))
def test_dealt(lengths, workers):
    work = np.array(lengths, np.int64)
    order = dealt(work, workers)
    assert order.dtype == np.int32 and sorted(order) == list(range(len(lengths)))
    bounds = [worker * len(lengths) // workers for worker in range(workers + 1)]
    shares = [order[low:high] for low, high in pairwise(bounds)]
    assert all(list(share) == sorted(share) for share in shares)
    if len(lengths) % workers == 0 and lengths:  # shares of one size differ by one row at most
        loads = [int(work[share].sum()) for share in shares]
        assert max(loads) - min(loads) <= max(lengths)


def test_the_shares_of_rows_that_come_by_length_are_equal():
    lengths = np.arange(64)
    order = dealt(lengths, 2)
    assert abs(int(lengths[order[:32]].sum()) - int(lengths[order[32:]].sum())) <= 1
    assert abs(int(lengths[:32].sum()) - int(lengths[32:].sum())) == 1024  # as they come


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 6))
def test_shares_of_equal_work(lengths, shares):
    work = np.array(lengths, np.int32)
    begins = share_begins(work, shares)
    assert begins.dtype == np.int32 and begins[0] == 0 and begins[-1] == len(lengths)
    loads = [int(work[low:high].sum()) for low, high in pairwise(begins)]
    assert len(loads) == shares and min(np.diff(begins)) >= 0
    assert max(loads) <= sum(lengths) / shares + max(lengths, default=0)


def test_every_policy_balances_what_comes_in_any_order():
    work = np.random.default_rng(0).integers(1, 512, 32)

    def busiest(order, begins):
        loads = [work[order][low:high].sum() for low, high in pairwise(begins)]
        return max(loads) / np.mean(loads)

    equal = range(0, 33, 8)
    by_length = longest_first(work)
    assert busiest(by_length, equal) > 1.6  # as many iterations each
    assert busiest(by_length, share_begins(work[by_length], 4)) < 1.1
    assert busiest(dealt(work, 4), equal) < 1.02
    assert busiest(np.arange(32), share_begins(work, 4)) < 1.05


def test_iterations_without_work_are_shared_out_by_number():
    assert share_begins(np.zeros(10), 4).tolist() == [0, 2, 5, 7, 10]


def test_what_is_no_work_is_refused():
    with pytest.raises(DataError, match="'work' has 2 dimensions"):
        longest_first(np.zeros((2, 2)))
    with pytest.raises(DataError, match="share_begins: there are 0 workers"):
        share_begins(np.zeros(3), 0)
    with pytest.raises(DataError, match="there are 0 workers"):
        dealt(np.zeros(3), 0)
