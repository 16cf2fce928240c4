"""Tensors of every element type: read, computed with, converted and stored as NumPy does it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ragged
from ragged.errors import DataError, ModelError

r, k = ragged.dim("r"), ragged.dim("k")
M = ragged.size("M")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")


def some(dtype: str, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        return rng.integers(max(limits.min, -300), min(limits.max, 300), shape, dtype, endpoint=True)
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ("bool", *INTEGERS, *FLOATS))
def test_a_copy_has_the_same_bits(dtype):
    x = ragged.input_tensor("X", [(r, M), (k, 5)], dtype)
    f = ragged.compile(ragged.compute("Y", x.dims, lambda i, j: x[i, j], dtype), threads=2)
    for rows in (0, 1, 37):
        given = some(dtype, rows, 5)
        found = f(X=given)
        assert found.dtype == np.dtype(dtype) and found.tobytes() == given.tobytes()
    with pytest.raises(DataError, match=f"holds {'float32' if dtype == 'bool' else 'bool'}, not {dtype}"):
        f(X=some("float32" if dtype == "bool" else "bool", 3, 5))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_computed_in_int64_and_wrap_where_they_are_stored(dtype):
    x = ragged.input_tensor("X", [(r, M)], dtype)
    z = ragged.input_tensor("Z", [(r, M)], dtype)
    wide = ragged.compute("wide", x.dims, lambda i: x[i] * z[i] - 7)
    narrow = ragged.compute("narrow", x.dims, lambda i: x[i] * z[i] - 7, dtype)
    halves = ragged.compute("halves", x.dims, lambda i: x[i] // 3 + x[i] % 3, "int64")
    f = ragged.compile(ragged.Schedule(wide, narrow, halves), threads=1)
    a, b = some(dtype, 40), some(dtype, 40)[::-1].copy()
    want = a.astype(np.int64) * b.astype(np.int64) - 7
    found = f(X=a, Z=b)
    assert found["wide"].dtype == np.int64
    np.testing.assert_array_equal(found["wide"], want)
    np.testing.assert_array_equal(found["narrow"], want.astype(dtype))
    np.testing.assert_array_equal(found["halves"], a.astype(np.int64) // 3 + a.astype(np.int64) % 3)


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_of_products_in_the_type_of_the_operands(dtype):
    x = ragged.input_tensor("X", [(r, M), (k, 33)], dtype)
    w = ragged.parameter("W", [(ragged.dim("c"), 20), (k, 33)], dtype)
    y = ragged.compute(
        "Y", [x.dims[0], w.dims[0]], lambda i, j: ragged.sum(k, lambda q: x[i, q] * w[j, q]), dtype
    )
    a, b = some(dtype, 9, 33), some(dtype, 20, 33)
    found = ragged.compile(y, {"W": b}, threads=2)(X=a)
    assert found.dtype == np.dtype(dtype)
    tolerance = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-14}[dtype]
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    assert abs(found - exact).max() / abs(exact).max() < tolerance


def test_float64_wins_and_literals_follow():
    x, z = (ragged.input_tensor(n, [(r, M)], d) for n, d in (("X", "float64"), ("Z", "float32")))
    n = ragged.input_tensor("N", [(r, M)], "int32")
    values = {
        "third": lambda i: x[i] / 3.0,
        "mixed": lambda i: x[i] * z[i] + n[i],
        "chosen": lambda i: ragged.where(x[i] > 0.1, x[i], z[i]),
        "function": lambda i: ragged.exp(x[i]) + ragged.tanh(x[i]) * ragged.sqrt(abs(x[i])),
    }
    f = ragged.compile(
        ragged.Schedule(*(ragged.compute(name, x.dims, value) for name, value in values.items()))
    )
    a, b, c = some("float64", 21), some("float32", 21), some("int32", 21)
    found = f(X=a, Z=b, N=c)
    want = {
        "third": a / 3.0,
        "mixed": a * b + c,
        "chosen": np.where(a > 0.1, a, b),
        "function": np.exp(a) + np.tanh(a) * np.sqrt(abs(a)),
    }
    for name, value in want.items():
        assert found[name].dtype == np.float64, name
        np.testing.assert_allclose(found[name], value, rtol=1e-15, atol=1e-15, err_msg=name)


def test_truth_values():
    x, z = (ragged.input_tensor(n, [(r, M)], "bool") for n in "XZ")
    n = ragged.input_tensor("N", [(r, M)], "int16")
    y = ragged.compute("Y", x.dims, lambda i: (x[i] & ~z[i]) | (n[i] > 0))
    number = ragged.compute("number", x.dims, lambda i: ragged.where(x[i], n[i], -1), "int16")
    found = ragged.compile(ragged.Schedule(y, number))(
        X=some("bool", 50), Z=some("bool", 50)[::-1].copy(), N=some("int16", 50)
    )
    a, b, c = some("bool", 50), some("bool", 50)[::-1], some("int16", 50)
    assert found["Y"].dtype == np.bool_
    np.testing.assert_array_equal(found["Y"], (a & ~b) | (c > 0))
    np.testing.assert_array_equal(found["number"], np.where(a, c, -1).astype(np.int16))


@pytest.mark.parametrize(
    ("reduce", "want", "empty"),
    [
        (ragged.sum, np.sum, 0),
        (ragged.prod, np.prod, 1),
        (ragged.max, np.max, np.iinfo(np.int64).min),
        (ragged.min, np.min, np.iinfo(np.int64).max),
    ],
    ids=["sum", "prod", "max", "min"],
)
def test_reductions_of_integers_are_integers(reduce, want, empty):
    x = ragged.input_tensor("X", [(r, M), (k, ragged.size("K"))], "int8")
    f = ragged.compile(ragged.compute("Y", [x.dims[0]], lambda i: reduce(k, lambda q: x[i, q])))
    a = some("int8", 6, 7)
    np.testing.assert_array_equal(f(X=a), want(a.astype(np.int64), axis=1))
    assert f(X=a[:, :0]).tolist() == [empty] * 6


def test_casts_convert_as_c_does():
    x = ragged.input_tensor("X", [(r, M)])
    y = ragged.compute("Y", x.dims, lambda i: ragged.cast(ragged.cast(x[i] * 100.0, "int32"), "int8"))
    half = ragged.compute("half", x.dims, lambda i: ragged.cast(x[i], "float16"))
    found = ragged.compile(ragged.Schedule(y, half))(X=some("float32", 40))
    a = some("float32", 40)
    np.testing.assert_array_equal(found["Y"], (a * np.float32(100)).astype(np.int32).astype(np.int8))
    np.testing.assert_array_equal(found["half"], a.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize(
    "value",
    [
        lambda x: x - 2**63,
        lambda x: ragged.where(x > 0, 2**70, 0),
        lambda x: ragged.minimum(x, np.uint64(2**63)),
        lambda x: ragged.sum(2**64, lambda k: k),
        lambda x: ragged.sum(3, lambda k: -(2**64)) + x,
        lambda x: ragged.sum(3, lambda k: x, init=2**64),
        lambda x: ragged.cast(2**64, "int64"),
    ],
)
def test_a_number_that_is_no_int64_is_refused(value):
    i, x = ragged.dim("i"), ragged.input_tensor("x", [(ragged.dim("i"), 3)], "int64")
    with pytest.raises(ModelError, match="is no integer of 64 bits"):
        ragged.compile(ragged.compute("y", [(i, 3)], lambda p: value(x[p])))
    with pytest.raises(ModelError, match="is no integer of 64 bits"):
        ragged.compute("y", [(i, 2**63)], lambda p: 1.0)


def test_factors_whose_product_is_no_int64_are_multiplied_one_after_another():
    i, x = ragged.dim("i"), ragged.input_tensor("x", [(ragged.dim("i"), 3)], "int64")
    f = ragged.compile(ragged.compute("y", [(i, 3)], lambda p: x[p] * 2**62 * 4 + x[p] * 3 * 5))
    assert f(x=np.zeros(3, np.int64)).tolist() == [0, 0, 0]
    # a float takes any number
    g = ragged.compile(ragged.compute("y", [(i, 3)], lambda p: ragged.cast(x[p], "float32") * 2**70))
    assert g(x=np.array([0, 1, -1])).tolist() == [0.0, 2.0**70, -(2.0**70)]


def test_what_is_no_element_type():
    with pytest.raises(ModelError, match="input_tensor 'X': dtype 'complex64' is none of bool, int8, int16"):
        ragged.input_tensor("X", [(r, M)], "complex64")
    x = ragged.input_tensor("X", [(r, M)])
    with pytest.raises(ModelError, match=r"'X\[i\] > 0.0' mixes types"):
        ragged.compute("Y", x.dims, lambda i: x[i] > 0.0, "float32")
    with pytest.raises(ModelError, match="mixes types"):
        ragged.compute("Y", x.dims, lambda i: x[i], "bool")


def test_bfloat16_is_rounded_to_the_nearest_and_comes_as_tensors_do():
    x = ragged.input_tensor("X", [(r, M)], "bfloat16")
    y = ragged.compute("Y", x.dims, lambda i: x[i] * 0.9, "bfloat16")
    f = ragged.compile(y, threads=1)
    every = np.arange(1 << 16, dtype=np.uint16).view("bfloat16")
    with np.errstate(invalid="ignore"):  # of signalling NaN
        exact = every.astype(np.float32) * np.float32(0.9)
    found = f(X=every)
    np.testing.assert_array_equal(found.astype(np.float32), exact.astype("bfloat16").astype(np.float32))
    tensor = torch.from_numpy(every.view(np.int16)).view(torch.bfloat16)
    out = torch.empty_like(tensor)
    for result in (f(X=tensor), f(X=tensor, out=out), out):
        assert result.dtype == torch.bfloat16
        assert result.view(torch.int16).numpy().tobytes() == found.tobytes()
    with pytest.raises(DataError, match="requires a gradient"):
        f(X=tensor.clone().requires_grad_())


def test_parameters_in_bfloat16_are_saved(tmp_path):
    x = ragged.input_tensor("X", [(r, M), (k, 33)], "bfloat16")
    w = ragged.parameter("W", [(ragged.dim("c"), 20), (k, 33)], "bfloat16")
    y = ragged.compute("Y", [x.dims[0], w.dims[0]], lambda i, j: ragged.sum(k, lambda q: x[i, q] * w[j, q]))
    a, b = some("bfloat16", 9, 33), some("bfloat16", 20, 33)
    f = ragged.compile(y, {"W": b}, threads=1)
    f.save(tmp_path / "f.ragged")
    want = f(X=a).tobytes()
    assert ragged.load(tmp_path / "f.ragged")(X=a).tobytes() == want
    tensor = torch.from_numpy(b.view(np.int16)).view(torch.bfloat16)
    assert f.with_params({"W": tensor})(X=a).tobytes() == want
    with pytest.raises(ModelError, match="float32, not bfloat16"):
        f.with_params({"W": tensor.float()})
