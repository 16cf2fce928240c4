"""Calls like earlier ones, which are not checked again: by shapes, dtypes and the values of integers."""

import numpy as np
import pytest
import torch

from ragged import tc


def test_known_calls_of_tensors():
    function = tc.define("def double(float(N) x) -> (y) { y(i) = x(i) + x(i) }").double
    x = torch.arange(6.0)
    for given in (x, x, x.reshape(2, 3).T.reshape(6), torch.arange(12.0)[::2]):  # the last one is strided
        found = function(given)
        assert type(found) is torch.Tensor
        assert torch.equal(found, 2 * given)
    assert type(function(x.numpy())) is np.ndarray
    assert function(x).data_ptr() != function(x).data_ptr()
    several = tc.define("def two(float(N) x) -> (y, z) { y(i) = x(i)  z(i) = -x(i) }").two
    for _ in range(2):
        assert [type(each) for each in several(x).values()] == [torch.Tensor] * 2
    doubles = torch.arange(6.0, dtype=torch.float64)
    with pytest.raises(tc.TcError):
        function(doubles)
    with pytest.raises(tc.TcError, match="require gradient"):
        function(torch.ones(6, requires_grad=True))


def test_known_calls_with_numbers():
    text = "def shifted(int32 D, float s, float(N) x) -> (y) { y(i) = s * x(i + D) where i in 0:4 }"
    function, x = tc.define(text).shifted, np.arange(12, dtype=np.float32)
    for kind in (int, np.int64, np.array):
        for shift in (1, 2, 1):  # the third call is a known one
            for scale in (2.0, 3.0, 4):
                found = function(kind(shift), scale, x)
                np.testing.assert_array_equal(found, scale * x[shift : shift + 4])
    for _ in range(2):
        assert type(function(1, 2.0, torch.from_numpy(x))) is torch.Tensor
    assert function._known_calls.find((1, 6.0, x)) is not None
    assert function._known_calls.find((3, 6.0, x)) is None
    assert function._known_calls.find((np.array(1), 6.0, x)) is None
    with pytest.raises(tc.TcError, match="integer"):
        function(1.0, 2.0, x)
    with pytest.raises(tc.TcError, match="bounds"):
        function(9, 2.0, x)


def test_numbers_of_numpy_are_no_arrays_that_results_are_like():
    text = "def shifted(int32 D, float(N) x) -> (y) { y(i) = x(i - D) where i in 5:N }"
    function, x = tc.define(text).shifted, np.arange(12, dtype=np.float32)
    assert function(np.int64(1), x).lower == (5,)
    assert type(function(np.int64(1), torch.from_numpy(x))) is torch.Tensor
