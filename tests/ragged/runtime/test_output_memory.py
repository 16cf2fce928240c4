"""The memory of large outputs: theirs as long as anybody has them, and then that of later calls' outputs."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from ragged.runtime.call import Caller
from tests.ragged.runtime.hardship import check, compiled

LARGE = 64 << 10  # elements of 8 bytes
SMALL = 100


@pytest.fixture
def call():
    return Caller([compiled()], {}, workers=1)


def out(call, n=LARGE, first=0):
    return call({"n": n, "steps": 1, "x": np.arange(first, first + n, dtype=np.int64)})["out"]


def expected(n=LARGE, first=0):
    return np.arange(first, first + n, dtype=np.int64)[::-1]


def test_memory_is_used_again_when_nobody_has_it(call):
    one = out(call)
    place = one.ctypes.data
    del one
    assert out(call).ctypes.data == place


def test_no_later_call_changes_what_somebody_has(call):
    kept = [out(call, first=first) for first in range(5)]
    views = [out(call, first=first)[first + 1 :][::2] for first in range(5)]
    for first in range(20):
        out(call, first=-first)
    for first, (whole, view) in enumerate(zip(kept, views, strict=True)):
        np.testing.assert_array_equal(whole, expected(first=first))
        np.testing.assert_array_equal(view, expected(first=first)[first + 1 :][::2])


def test_arrays_outlive_the_function():
    call = Caller([compiled()], {}, workers=1)
    kept = out(call)
    del call
    gc.collect()
    np.testing.assert_array_equal(kept, expected())
    kept[:] = 1  # it is the caller's own


def test_arrays_are_aligned_writeable_and_of_their_size(call):
    array = out(call)
    assert array.ctypes.data % 64 == 0 and array.flags.writeable and array.flags.c_contiguous
    assert memoryview(array).nbytes == 8 * LARGE


def test_few_blocks_are_kept(call):
    kept = [out(call) for _ in range(9)]
    workspace = call.idle_memory
    del kept
    blocks, held = call.idle_memory
    assert blocks - workspace[0] == 2
    assert held - workspace[1] < 3 * 8 * LARGE


def test_what_one_large_result_took_is_given_back(call):
    out(call, 4 << 20)
    assert call.idle_memory[1] >= 8 * (4 << 20)
    for _ in range(80):
        check(call, SMALL)
    assert call.idle_memory[1] < 3 << 20


def test_a_larger_result_takes_a_larger_block(call):
    for n in (LARGE, 3 * LARGE, LARGE, 2 * LARGE):
        np.testing.assert_array_equal(out(call, n), expected(n))
