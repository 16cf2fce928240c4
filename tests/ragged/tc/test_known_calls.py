"""Calls like earlier ones, which are not checked again: by shapes, dtypes and the values of integers."""

import numpy as np
import pytest
import torch

from ragged import tc


class Labelled(torch.Tensor):
    """A kind of tensor that this file, not torch, defines."""


def test_known_calls_of_tensors():
    function = tc.define("def double(float(N) x) -> (y) { y(i) = x(i) + x(i) }").double
    x = torch.arange(6.0)
    for given in (x, x, x.reshape(2, 3).T.reshape(6), torch.arange(12.0)[::2]):  # the last one is strided
        found = function(given)
        assert type(found) is torch.Tensor
        assert torch.equal(found, 2 * given)
    assert type(function(x.numpy())) is np.ndarray
    assert type(function(x.as_subclass(Labelled))) is torch.Tensor
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


TWO = """
def two(float(B, H, W) x, float(B) s) -> (y, z) {
  y(b,h,w) = x(b,h,w) * s(b)
  z(b) +=! x(b,h,w)
}
"""


def test_known_calls_by_name_and_into_arrays(monkeypatch):
    function = tc.define(TWO).two
    x, s = np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.float32([2, 3])
    wanted, total = x * s[:, None, None], x.sum((1, 2))
    y, z = np.zeros_like(x), np.zeros(2, np.float32)
    function(x, s)
    monkeypatch.setattr("ragged.tc.callable.read_arguments", None)  # which only other calls ask
    for found in (function(x=x, s=s), function(s=s, x=x), function(x, s=s)):
        np.testing.assert_array_equal(found["y"], wanted)
    for out in ({"y": y, "z": z}, {"y": y}, {"z": z}, {}):
        y[:], z[:] = -1, -1
        found = function(x, s=s, out=out)
        assert all(found[name] is array for name, array in out.items()) and list(found) == ["y", "z"]
        np.testing.assert_array_equal(found["y"], wanted)
        np.testing.assert_array_equal(found["z"], total)
        assert ((y == wanted).all() and (z == -1).all()) if list(out) == ["y"] else True
    tensor = torch.zeros(2, 3, 4)
    given = (torch.from_numpy(x), torch.from_numpy(s))
    monkeypatch.undo()
    function(*given)
    monkeypatch.setattr("ragged.tc.callable.read_arguments", None)
    found = function(*given, out={"y": tensor})
    assert (
        found["y"] is tensor
        and torch.equal(tensor, torch.from_numpy(wanted))
        and type(found["z"]) is torch.Tensor
    )


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((3, 4), np.float32).T,
        np.zeros((8, 3), np.float32)[::2],
        np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float32).reshape(4, 3),
    ],
    ids=["transposed", "strided", "misplaced"],
)
def test_arrays_that_a_kernel_cannot_write_into_get_copies(out):
    function = tc.define("def double(float(N, K) x) -> (y) { y(i,k) = x(i,k) + x(i,k) }").double
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    for _ in range(2):
        out[...] = 0
        assert function(x, out=out) is out
        np.testing.assert_array_equal(out, 2 * x)


def test_known_calls_into_what_they_read():
    text = "def backward(float(N) x) -> (y) { y(i) = x(N - 1 - i) }"
    function, x = tc.define(text).backward, np.arange(9, dtype=np.float32)
    for _ in range(3):
        wanted = x[::-1].copy()
        assert function(x, out=x) is x
        np.testing.assert_array_equal(x, wanted)
    bound = tc.define(text).backward.compile(parameters={"x": x})
    for _ in range(2):
        before = bound()
        assert bound(out=x) is x
        np.testing.assert_array_equal(x, before)


def test_known_calls_with_wrong_arrays_are_refused():
    function = tc.define(TWO).two
    x, s = np.ones((2, 3, 4), np.float32), np.ones(2, np.float32)
    function(x, s)
    for out in (np.zeros_like(x), {"w": s}, {"y": x.astype(np.float64)}, {"z": np.zeros(3, np.float32)}):
        with pytest.raises(tc.TcError):
            function(x, s, out=out)
    for wrong in ({"x": x}, {"x": x, "s": s, "t": s}, {"x": x, "t": s}):
        with pytest.raises(tc.TcError):
            function(**wrong)
    with pytest.raises(tc.TcError):
        function(x, s, x=x)


@pytest.mark.parametrize(
    "text",
    [
        "def double(float(N) out) -> (y) { y(i) = out(i) + out(i) }",
        "def double(float(out) x) -> (y) { y(i) = x(i) + x(i) }",
        "def double(int32 out, float(N) x) -> (y) { y(i) = x(i) * out }",
    ],
    ids=["argument", "size", "number"],
)
def test_functions_with_something_named_out(text):
    function, x, y = tc.define(text).double, np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    args = (2, x) if "int32" in text else (x,)
    for _ in range(3):
        y[:] = -1
        assert function(*args, out=y) is y
        np.testing.assert_array_equal(y, 2 * x)
