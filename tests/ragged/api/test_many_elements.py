"""Arrays of more than 2^31 elements: memory that nothing touches costs none."""

from __future__ import annotations

import numpy as np
import pytest

import ragged
from ragged.errors import DataError

LENGTHS = [2**31 - 1, 7, 2**31 - 1]


@pytest.fixture(scope="module")
def rows():
    values = np.zeros(sum(LENGTHS), np.bool_)
    values[[5, LENGTHS[0] + 3, -1]] = True
    return ragged.RaggedArray(values, (3, ragged.Lengths((0,), LENGTHS)))


@pytest.fixture(scope="module")
def element():
    batch, place = ragged.dim("batch"), ragged.dim("place")
    dims = [(batch, ragged.size("B"))]
    x = ragged.input_tensor("x", [*dims, (place, ragged.length_fn("n", over=batch)(batch))], dtype="bool")
    at = ragged.input_tensor("at", dims, dtype="int64")
    return ragged.compile(ragged.compute("y", dims, lambda b: ragged.where(x[b, at[b]], 1.0, 0.0)), threads=2)


def test_elements_behind_two_to_the_31_are_read(element, rows):
    for at, want in (([5, 3, 2**31 - 2], [1, 1, 1]), ([4, 4, 2**31 - 3], [0, 0, 0])):
        assert element(x=rows, at=np.array(at)).tolist() == want
    with pytest.raises(DataError, match=r"outside \[0, 7\)"):
        element(x=rows, at=np.array([0, 7, 0]))


def test_rows_behind_two_to_the_31_are_indexed(rows):
    assert np.flatnonzero(rows[1]).tolist() == [3]
    assert rows[2].shape == (2**31 - 1,) and bool(rows[2][-1])


def test_rows_of_a_fused_loop_are_numbered_in_32_bits_and_counted_first():
    batch, row = ragged.dim("batch"), ragged.dim("row")
    n = ragged.length_fn("n", over=batch)
    b = ragged.size("B")
    x, c = ragged.input_tensor("x", [(batch, b), (row, n(batch))]), ragged.input_tensor("c", [(batch, b)])
    s = ragged.Schedule(ragged.compute("y", x.dims, lambda b, t: c[b] * x[b, t]))
    s.fuse_loops(*s.tensor("y").dims)
    *_, prelude = map(str, s.preludes())
    assert prelude.index("B <= 2147483647") < prelude.index("int32(batch)")
