"""Reductions over dimensions, and reductions that start from a value."""

from __future__ import annotations

import numpy as np
import pytest

import ragged
from ragged.errors import ModelError

r, c, k = ragged.dim("r"), ragged.dim("c"), ragged.dim("k")


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_a_dimension_stands_for_its_extent():
    x = ragged.input_tensor("X", [(r, ragged.size("M")), (k, 24)])
    w = ragged.parameter("W", [(c, 20), (k, 24)])
    y = ragged.compute("Y", [x.dims[0], (c, 20)], lambda i, j: ragged.sum(k, lambda q: x[i, q] * w[j, q]))
    found = ragged.compile(y, {"W": numbers(20, 24)})(X=numbers(7, 24))
    np.testing.assert_allclose(found, numbers(7, 24) @ numbers(20, 24).T, rtol=1e-5, atol=1e-5)


def test_over_rows_of_other_lengths_and_several_dimensions():
    n = ragged.length_fn("n", over=r)
    x = ragged.input_tensor("X", [(r, ragged.size("M")), (c, n(r)), (k, 3)])
    y = ragged.compute("Y", [x.dims[0]], lambda i: ragged.sum((c, k), lambda p, q: x[i, p, q]))
    rows = [numbers(length, 3) for length in (2, 0, 5)]
    found = ragged.compile(y)(X=ragged.array(rows))
    np.testing.assert_allclose(found, [row.sum() for row in rows], rtol=1e-5, atol=1e-6)


def test_dimensions_without_an_extent_and_with_two():
    x = ragged.input_tensor("X", [(r, 4), (k, 24)])
    w = ragged.input_tensor("W", [(k, 12)])
    with pytest.raises(ModelError, match=r"ragged\.sum: 'k' extends 24 in 'X' and 12 in 'W'"):
        ragged.compute("Y", [(r, 4)], lambda i: ragged.sum(k, lambda q: x[i, q] * w[q]))
    with pytest.raises(ModelError, match="no tensor is read along 'c' at 'q'"):
        ragged.compute("Y", [(r, 4)], lambda i: ragged.sum(c, lambda q: x[i, q]))


STARTS = {
    "sum": (ragged.sum, lambda x, s: s + x.sum(1)),
    "prod": (ragged.prod, lambda x, s: s * x.prod(1)),
    "max": (ragged.max, lambda x, s: np.maximum(s, x.max(1, initial=-np.inf))),
    "min": (ragged.min, lambda x, s: np.minimum(s, x.min(1, initial=np.inf))),
}


@pytest.mark.parametrize("name", STARTS)
def test_reductions_start_from_a_value(name):
    reduce, want = STARTS[name]
    x = ragged.input_tensor("X", [(r, ragged.size("M")), (k, ragged.size("K"))])
    s = ragged.input_tensor("S", [(r, ragged.size("M"))])
    y = ragged.compute("Y", [x.dims[0]], lambda i: reduce(k, lambda q: x[i, q], init=2.0 * s[i]))
    f = ragged.compile(y, threads=2)
    for rows, inner in ((1, 1), (5, 0), (9, 33)):
        a, b = numbers(rows, inner), numbers(rows)
        np.testing.assert_allclose(f(X=a, S=b), want(a, 2 * b), rtol=1e-5, atol=1e-5)


def test_a_product_starts_from_a_bias_and_from_another_sum():
    x = ragged.input_tensor("X", [(r, ragged.size("M")), (k, 24)])
    w = ragged.parameter("W", [(c, 20), (k, 24)])
    b = ragged.parameter("b", [(c, 20)])

    def element(i, j):
        start = b[j] + ragged.sum(k, lambda q: x[i, q])
        return ragged.sum(k, lambda q: x[i, q] * w[j, q], init=start)

    y = ragged.compute("Y", [x.dims[0], (c, 20)], element)
    f = ragged.compile(y, {"W": numbers(20, 24), "b": numbers(20)}, threads=2)
    for rows in (0, 1, 23):
        a = numbers(rows, 24)
        want = a @ numbers(20, 24).T + numbers(20) + a.sum(1, keepdims=True)
        np.testing.assert_allclose(f(X=a), want, rtol=1e-4, atol=1e-4)


def test_a_sum_from_a_value_inside_a_sum_is_no_sum_over_both():
    x = ragged.input_tensor("X", [(r, 3), (k, 4)])
    y = ragged.compute(
        "Y", [(c, 1)], lambda _: ragged.sum(3, lambda i: ragged.sum(k, lambda q: x[i, q], init=1.0))
    )
    np.testing.assert_allclose(ragged.compile(y)(X=numbers(3, 4)), [numbers(3, 4).sum() + 3], rtol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_in_sums_over_extents_of_each_other(threads):
    """What the inner one computes has room for the longest row."""
    b, i = ragged.dim("b"), ragged.dim("i")
    n = ragged.length_fn("n", over=b)
    X = ragged.input_tensor("X", [(b, ragged.size("B")), (i, n(b))])

    def value(row, last):
        inner = lambda p: 1.0 + ragged.sum(p + 1, lambda q: X[row, q])  # noqa: E731
        return ragged.sum(last + 1, inner)

    Y = ragged.compute("Y", X.dims, value)
    rows = [[1.0, 2.0, 3.0], [], [4.0]]
    found = ragged.compile(Y, threads=threads)(X=ragged.array(rows)).to_list()
    sums = [np.cumsum(row) for row in rows]
    assert found == [[float((each[: t + 1] + 1).sum()) for t in range(len(each))] for each in sums]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_the_largest_and_least_of_no_integers_are_the_limits_of_the_type(dtype):
    i, j = ragged.dim("i"), ragged.dim("j")
    x = ragged.input_tensor("x", [(i, 2), (j, ragged.size("K"))], dtype)
    limits = np.iinfo(dtype)
    for reduce, of_none, of_some in (
        (ragged.max, limits.min, limits.max),
        (ragged.min, limits.max, limits.min),
    ):
        found = ragged.compute("y", [(i, 2)], lambda p, reduce=reduce: reduce(j, lambda q: x[p, q]), dtype)
        function = ragged.compile(found)
        np.testing.assert_array_equal(function(x=np.zeros((2, 0), dtype)), [of_none] * 2)
        np.testing.assert_array_equal(function(x=np.array([[of_some, 0]] * 2, dtype)), [of_some] * 2)
