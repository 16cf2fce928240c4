"""Policies: orders of iterations by the work that each has."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged.errors import DataError
from ragged.runtime.orders import dealt, longest_first


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


def test_what_is_no_work_is_refused():
    with pytest.raises(DataError, match="'work' has 2 dimensions"):
        longest_first(np.zeros((2, 2)))
    with pytest.raises(DataError, match="there are 0 workers"):
        dealt(np.zeros(3), 0)
