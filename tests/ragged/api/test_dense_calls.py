"""Calls on dense arrays: arrays of any library in, the same kind out, and results in arrays of the caller's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
import torch

import ragged
from ragged import tc
from ragged.api.bound_arguments import CACHED_SHAPES
from ragged.api.observed import MOST, SizeCounts
from ragged.auto.shapes import Shape
from ragged.errors import DataError
from tests.support.python_work import calls

r, c, k = ragged.dim("r"), ragged.dim("c"), ragged.dim("k")


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@cache
def dense(inner: int = 24, columns: int = 20) -> ragged.RaggedFunction:
    """X W^T of 4 T rows; its results have the columns of W."""
    t = ragged.size("T", 1, 8)
    x = ragged.input_tensor("X", [(r, 4 * t), (k, inner)])
    w = ragged.parameter("W", [(c, columns), (k, inner)])
    y = ragged.compute("Y", [x.dims[0], w.dims[0]], lambda i, j: ragged.sum(k, lambda q: x[i, q] * w[j, q]))
    return ragged.compile(y, {"W": numbers(columns, inner, seed=1)}, threads=2)


@cache
def two() -> ragged.RaggedFunction:
    x = ragged.input_tensor("X", [(r, ragged.size("M")), (k, 5)])
    z = ragged.input_tensor("Z", [(r, ragged.size("M"))])
    total = ragged.compute("total", [x.dims[0]], lambda i: z[i] + ragged.sum(k, lambda q: x[i, q]))
    shifted = ragged.compute("shifted", x.dims, lambda i, j: x[i, j] - z[i])
    return ragged.compile(ragged.Schedule(total, shifted), threads=1)


def test_tensors_in_tensors_out():
    x = torch.from_numpy(numbers(8, 24))
    y = dense()(X=x)
    assert isinstance(y, torch.Tensor) and y.dtype is torch.float32
    np.testing.assert_array_equal(y.numpy(), dense()(X=x.numpy()))
    both = two()(X=torch.from_numpy(numbers(3, 5)), Z=numbers(3))
    assert all(isinstance(each, torch.Tensor) for each in both.values())
    y += 1.0
    np.testing.assert_array_equal(dense()(X=x).numpy() + 1.0, y.numpy())


class Exported:
    """An array of a library that knows DLPack and the array API standard, of which NumPy knows nothing."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array_namespace__(self):
        return type("namespace", (), {"from_dlpack": staticmethod(lambda x: Exported(np.from_dlpack(x)))})


def test_arrays_of_other_libraries_through_dlpack():
    y = dense()(X=Exported(numbers(8, 24)))
    assert isinstance(y, Exported)
    np.testing.assert_array_equal(y.array, dense()(X=numbers(8, 24)))


class ExportedHalf(Exported):
    """Elements of bfloat16, as JAX has them: NumPy's `asarray` reads them, and neither side's DLPack does."""

    dtype = np.dtype("bfloat16")

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __array_namespace__(self):
        def refuse(array):
            raise BufferError("DLPack only supports integers, floats and complex numbers")

        return type("namespace", (), {"from_dlpack": refuse, "asarray": staticmethod(ExportedHalf)})


def test_arrays_of_bfloat16_of_other_libraries():
    given = numbers(8).astype("bfloat16")
    rows = ragged.dim("rows")
    x = ragged.input_tensor("X", [(rows, ragged.size("R"))], "bfloat16")
    f = ragged.compile(ragged.compute("Y", x.dims, lambda i: x[i] * 2.0, "bfloat16"), threads=1)
    g = tc.define("def f(bfloat16(N) a) -> (b) { b(i) = a(i) * 2 }").f
    for found in (f(X=ExportedHalf(given)), g(ExportedHalf(given))):
        assert isinstance(found, ExportedHalf)
        np.testing.assert_array_equal(found.array.astype(np.float32), 2 * given.astype(np.float32))


def test_what_is_copied_and_what_is_refused():
    want = dense()(X=numbers(8, 24))
    strided = np.zeros((8, 48), np.float32)
    strided[:, ::2] = numbers(8, 24)
    np.testing.assert_array_equal(dense()(X=strided[:, ::2]), want)
    np.testing.assert_array_equal(dense()(X=torch.from_numpy(strided)[:, ::2]).numpy(), want)
    np.testing.assert_array_equal(dense()(X=np.asfortranarray(numbers(8, 24))), want)
    crooked = np.frombuffer(b"." + numbers(8, 24).tobytes(), np.uint8)[1:].view(np.float32).reshape(8, 24)
    assert not crooked.flags.aligned
    np.testing.assert_array_equal(dense()(X=crooked), want)
    for value, message in {
        "float64": (numbers(8, 24).astype(np.float64), "Y: 'X' holds float64, not float32"),
        "torch": (torch.zeros(8, 24).double(), r"fix: to\(torch.float32\)"),
        "rank": (numbers(8, 24, 1), "Y: 'X' has 3 dimensions, not 2"),
        "extent": (numbers(8, 23), "Y: 'X' extends 23 in dimension 'k', not 24"),
        "list": ([[1.0]], "Y: 'X' is of type list, and an array is needed"),
        "none": (None, r"Y: 'X' is not given"),
        "gradients": (torch.zeros(8, 24, requires_grad=True), "Y: 'X'"),
    }.values():
        with pytest.raises(DataError, match=message):
            dense()(X=value)


@pytest.mark.parametrize("rows", [4, 32])
def test_results_are_written_where_the_caller_says(rows):
    x = numbers(rows, 24)
    want = dense()(X=x)
    memory = np.full(rows * 20 + 16, np.nan, np.float32)
    for begin in range(0, 16, 3):  # whatever the alignment to a cache line
        out = memory[begin : begin + rows * 20].reshape(rows, 20)
        assert dense()(X=x, out=out) is out
        np.testing.assert_array_equal(out, want)
    tensor = torch.zeros(rows, 20)
    assert dense()(X=x, out=tensor) is tensor
    np.testing.assert_array_equal(tensor.numpy(), want)


def test_several_results_by_name():
    x, z = numbers(3, 5), numbers(3)
    want = two()(X=x, Z=z)
    out = np.zeros((3, 5), np.float32)
    found = two()(X=x, Z=z, out={"shifted": out})
    assert found["shifted"] is out and list(found) == ["total", "shifted"]
    for name, value in want.items():
        np.testing.assert_array_equal(found[name], value)


def test_what_is_no_out():
    x, shape = numbers(8, 24), (8, 20)
    frozen = np.zeros(shape, np.float32)
    frozen.setflags(write=False)
    crooked = np.frombuffer(bytearray(8 * 20 * 4 + 1), np.uint8)[1:].view(np.float32).reshape(shape)
    for out, message in (
        (np.zeros((8, 19), np.float32), r"out 'Y' has the shape \(8, 19\), and the result \(8, 20\)"),
        (np.zeros(shape), "out 'Y' holds float64, not float32"),
        (np.zeros((20, 8), np.float32).T, r"out 'Y' is not C-contiguous: its strides are \(4, 32\) bytes"),
        (frozen, "out 'Y' is read-only"),
        (crooked, "out 'Y' does not begin at a multiple of an element, 4 bytes"),
        ([1.0], "out 'Y' is of type list"),
        (np.float32(1), "out 'Y' cannot be written in place"),
        (np.ma.zeros(shape, np.float32), "the mask would be lost"),
        (torch.zeros(shape, requires_grad=True), "it requires a gradient"),
        ({"Z": np.zeros(shape, np.float32)}, "out= names 'Z', and the results are Y"),
    ):
        with pytest.raises(DataError, match=message):
            dense()(X=x, out=out)
    with pytest.raises(DataError, match="out= is one array, and there are 2 results"):
        two()(X=numbers(3, 5), Z=numbers(3), out=numbers(3))
    memory = np.zeros((3, 5), np.float32)
    with pytest.raises(DataError, match="out 'shifted' shares memory with the input 'X'"):
        two()(X=memory, Z=numbers(3), out={"shifted": memory})
    with pytest.raises(DataError, match="out 'shifted' shares memory with out 'total'"):
        two()(X=numbers(3, 5), Z=numbers(3), out={"total": memory.reshape(-1)[:3], "shifted": memory})


def ragged_rows():
    n = ragged.length_fn("n", over=r)
    a = ragged.input_tensor("A", [(r, ragged.size("B")), (k, n(r))])
    return a, ragged.Schedule(ragged.compute("Y", a.dims, lambda i, j: a[i, j] + 1.0))


@pytest.mark.parametrize("bulk", [1, 8])
def test_ragged_results_are_written_where_the_caller_says(bulk):
    a, s = ragged_rows()
    if bulk > 1:
        (y,) = (each for each in s.tensors if each is not a)
        s.fuse_dimensions(*y.dims, pad=bulk)
        s.fuse_loops(y.loops[0], y.loops[1], pad=bulk)
    f, x = ragged.compile(s), ragged.array([numbers(3), numbers(1), numbers(0), numbers(1)])
    want = f(A=x)
    out = ragged.RaggedArray.full(want.extents, np.nan)
    assert f(A=x, out=out) is out and out.equal(want) and out.equal(x + 1.0)
    memory = np.full(want.size + 16, np.nan, np.float32)
    part = ragged.RaggedArray(memory[3 : 3 + want.size], want.extents)
    assert f(A=x, out={"Y": part}) is part
    assert part.equal(want) and np.isnan(memory[:3]).all() and np.isnan(memory[3 + want.size :]).all()


def test_what_is_no_ragged_out():
    x = ragged.array([numbers(3), numbers(1)])
    f = ragged.compile(ragged_rows()[1])
    other = "out 'Y' is no array of the extents and the padding of the result"
    for out, message in (
        (numbers(4), "out 'Y' is of type ndarray, and a RaggedArray is needed"),
        (ragged.array([numbers(1), numbers(3)]), other),
        (ragged.RaggedArray.zeros(x.extents, padding=(1, 4)), other),
        (ragged.RaggedArray.zeros(x.extents, np.float64), "out 'Y' holds float64, not float32"),
        (x, "out 'Y' shares memory with the input 'A'"),
    ):
        with pytest.raises(DataError, match=message):
            f(A=x, out=out)
    with pytest.raises(DataError, match="out 'Y' is of type RaggedArray, and an array is needed"):
        dense()(X=numbers(8, 24), out=x)


def test_results_too_large_and_negative():
    m, n = ragged.size("M"), ragged.size("N")
    x = ragged.input_tensor("X", [(r, m), (k, n)])
    f = ragged.compile(
        ragged.compute("Y", [(r, m), (c, 2**20)], lambda i, j: ragged.sum(k, lambda q: x[i, q]))
    )
    with pytest.raises(
        DataError, match=r"'Y' would have the shape \(1125899906842624, 1048576\), of more than 2\^60"
    ):
        f(X=np.zeros((2**50, 0), np.float32))
    f = ragged.compile(ragged.compute("Y", [(r, m - 3)], lambda i: x[i, 0]))
    assert f(X=numbers(3, 1)).shape == (0,)
    with pytest.raises(DataError, match=r"'Y' would have the shape \(-1,\), and no extent is negative"):
        f(X=numbers(2, 1))


def test_shapes_that_calls_bring_are_counted():
    f = dense().with_params({"W": numbers(20, 24)})
    assert f.observed() == ()
    for rows in (4, 8, 4, 12, 4, 8):
        f(X=numbers(rows, 24))
    assert f.observed() == tuple(Shape((("T", t),), float(n)) for t, n in ((1, 3), (2, 2), (3, 1)))


def test_counts_of_very_many_shapes_keep_the_most_frequent():
    counts = SizeCounts()
    for value in range(3 * MOST):
        counts.add((("T", value),))
        counts.add((("T", -1),))
    found = counts.most_frequent()
    assert len(found) <= MOST and found[0] == ((("T", -1),), 3 * MOST)


def test_memory_stays_flat_over_ten_thousand_shapes():
    f = dense(1, 1)
    rows = np.zeros((40_000, 1), np.float32)
    for t in range(10_000):
        assert f(X=rows[: 4 * t]).shape == (4 * t, 1)
    assert len(f._preludes._cache) == CACHED_SHAPES and len(f.observed()) <= MOST


def test_a_fresh_shape_costs_as_many_python_calls_as_any_other():
    f = dense()
    first = calls(lambda: f(X=numbers(80, 24)))
    again = calls(lambda: f(X=numbers(80, 24)))
    other = calls(lambda: f(X=numbers(84, 24)))
    assert other == first > again


def test_shapes_change_under_threads():
    f = dense()
    arrays = [numbers(4 * t, 24, seed=t) for t in (0, 1, 2, 7, 31)]
    want = [f(X=each).tobytes() for each in arrays]

    def run(seed: int) -> bool:
        order = np.random.default_rng(seed).permutation(len(arrays)).tolist() * 20
        return all(f(X=arrays[n]).tobytes() == want[n] for n in order)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(8)))


def test_the_code_of_a_kernel_that_does_nothing_is_empty():
    y = ragged.compute("Y", [(ragged.dim("none"), 0)], lambda i: 1.0)
    assert ragged.compile(y).show("asm") == ""
