"""Operators and NumPy's universal functions, against NumPy on dense arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragged
from ragged.data import RaggedArray
from tests.ragged.data.reference import arrays

BINARY = (np.add, np.subtract, np.multiply, np.maximum, np.less, np.equal, np.arctan2)


@given(arrays(), st.sampled_from(BINARY), st.integers(-2, 3))
def test_as_numpy_on_the_dense_arrays(array, ufunc, number):
    mask, dense = array.mask(), array.to_padded()
    for found, expected in (
        (ufunc(array, number), ufunc(dense, number)),
        (ufunc(number, array), ufunc(number, dense)),
        (ufunc(array, array.astype(np.float64)), ufunc(dense, dense.astype(np.float64))),
        (np.exp(array), np.exp(dense)),
    ):
        assert found.dtype == expected.dtype and max(found.padding) == 1
        np.testing.assert_array_equal(found.to_padded()[mask], expected[mask])


@given(arrays())
def test_operators_of_python(array):
    assert (-array + 2 * array).equal(array) and (array - array == 0).packed().values.all()
    assert (abs(array) >= array).packed().values.all() and divmod(array, 2)[1].equal(array % 2)


def test_dense_arrays_are_broadcast_over_rows_and_those_of_numpy_stand_on_either_side():
    x = ragged.array(np.arange(12, dtype=np.float32).reshape(6, 2), lengths=[1, 0, 5])
    scale = np.array([2, 3], np.float32)
    for found in (x * scale, scale * x, scale[:1] * x * (scale / scale[:1])):
        np.testing.assert_allclose(found.values.reshape(6, 2), x.values.reshape(6, 2) * scale)
    assert (np.float64(2) * x).dtype == np.float64 and (2.0 * x).dtype == np.float32


def test_results_in_place_and_in_an_array_of_the_caller():
    x = ragged.array([[1, 2], [3]], padding=(1, 4), dtype=np.float32)
    values = x.values
    x += 1
    assert x.values is values and x.to_list() == [[2, 3], [4]] and x.values[3] == 0
    out = RaggedArray.zeros(x.extents, np.float64)
    assert np.exp2(x, out=out) is out and out.to_list() == [[4, 8], [16]]
    whole, part = np.divmod(x, 2)
    assert whole.to_list() == [[1, 1], [2]] and part.to_list() == [[0, 1], [0]]


def test_what_numpy_does_not_do_element_by_element_is_refused():
    x = ragged.array([[1, 2], [3]], dtype=np.float32)
    for refused in (lambda: np.matmul(x, x), lambda: x + "1", lambda: x + None):
        with pytest.raises(TypeError):
            refused()
