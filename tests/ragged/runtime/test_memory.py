"""Aligned arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged.runtime.memory import ALIGN, aligned_copy, aligned_empty, as_aligned, raw_address


@given(
    st.lists(st.integers(0, 5), max_size=3),
    st.sampled_from(["float32", "int64", "bool"]),
)
def test_aligned_empty(shape, dtype):
    array = aligned_empty(shape, dtype)
    assert array.shape == tuple(shape)
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert raw_address(array) % ALIGN == 0
    array[...] = 1
    assert (array == 1).all()


def test_what_is_aligned_is_not_copied():
    array = aligned_empty((3, 4), np.float32)
    array[...] = 2.0
    assert as_aligned(array) is array
    copy = aligned_copy(array)
    assert not np.shares_memory(copy, array)
    np.testing.assert_array_equal(copy, array)


@pytest.mark.parametrize("make", [lambda a: a[1:], lambda a: a.T, lambda a: a[:, ::2]])
def test_what_is_not_aligned_is_copied(make):
    array = aligned_empty((5, 6), np.float32)
    array[...] = np.arange(30).reshape(5, 6)
    view = make(array)
    got = as_aligned(view)
    assert got is not view
    assert raw_address(got) % 64 == 0
    np.testing.assert_array_equal(got, view)


def test_addresses_of_all_kinds_of_arrays():
    frozen = np.arange(3)
    frozen.flags.writeable = False
    for array in (frozen, np.empty(0), np.ones((4, 4))[:, 1], np.zeros(())):
        assert raw_address(array) == array.ctypes.data
