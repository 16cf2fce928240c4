"""Factors of products that are expressions are computed once; others stay in the product."""

import re

import numpy as np
import pytest

import ragged

i, j, k = (ragged.dim(name) for name in "ijk")


def data(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


FACTORS = {
    "a function": (lambda x, y: (ragged.exp(x), y), lambda x, y: (np.exp(x), y), 1),
    "functions": (lambda x, y: (ragged.tanh(x), ragged.exp(y)), lambda x, y: (np.tanh(x), np.exp(y)), 2),
    "both computed": (lambda x, y: (x - 1.0, 2.0 * y), lambda x, y: (x - 1, 2 * y), 2),
    "one of arithmetic": (lambda x, y: (x - 1.0, y), lambda x, y: (x - 1, y), 0),
    "none": (lambda x, y: (x, y), lambda x, y: (x, y), 0),
}


def product(factors, m, n, r, then=lambda total: total):
    a, b = ragged.input_tensor("a", [(i, m), (k, r)]), ragged.input_tensor("b", [(k, r), (j, n)])

    def element(p, q):
        def term(s):
            one, other = factors(a[p, s], b[s, q])
            return one * other

        return then(ragged.sum(k, term))

    return ragged.compute("c", [(i, m), (j, n)], element)


def factors_of(program):
    return [each.name for each in ragged.Schedule(program).tensors if "factor" in each.name]


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("name", FACTORS)
def test_factors_are_computed_once(name, alone):
    written, exact, count = FACTORS[name]
    then = (lambda total: total) if alone else (lambda total: ragged.maximum(total, 0.0) + 1.0)
    some = product(written, *map(ragged.size, "MNR"), then)
    assert len(factors_of(some)) == count
    a, b = data(37, 20), data(20, 70)
    function = ragged.compile(some)
    found = function(a=a, b=b)
    one, other = exact(a.astype(float), b.astype(float))
    wanted = one @ other
    wanted = wanted if alone else np.maximum(wanted, 0) + 1
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    fixed = product(written, 37, 70, 20, then)
    for options in ({}, {"threads": 1}, {"schedule": None}):
        assert ragged.compile(fixed, **options)(a=a, b=b).tobytes() == found.tobytes()
    assert "scope=register" in function.show("loops")


def test_covariances():
    x = ragged.input_tensor("x", [(i, ragged.size("N")), (k, ragged.size("K"))])
    mean = ragged.compute("mean", [(k, ragged.size("K"))], lambda q: ragged.sum(i, lambda p: x[p, q]) / 50.0)
    other = ragged.dim("other")
    cov = ragged.compute(
        "cov",
        [(k, ragged.size("K")), (other, ragged.size("K"))],
        lambda p, q: ragged.sum(i, lambda s: (x[s, p] - mean[p]) * (x[s, q] - mean[q])),
    )
    function, a = ragged.compile(cov), data(50, 24)
    assert "scope=register" in function.show("loops")
    centred = a.astype(float) - a.astype(float).mean(0)
    np.testing.assert_allclose(function(x=a), centred.T @ centred, rtol=1e-4, atol=1e-4)


def test_what_no_other_product_has_stays():
    """Squares of differences are of one element each, and rows of sequences have tiles of their own."""
    x = ragged.input_tensor("x", [(i, ragged.size("N")), (k, ragged.size("K"))])
    squares = ragged.compute(
        "s", [(i, ragged.size("N"))], lambda p: ragged.sum(k, lambda s: (x[p, s] - 1.0) * (x[p, s] - 1.0))
    )
    assert not factors_of(squares)
    n = ragged.length_fn("n", over=i)
    rows = ragged.input_tensor("rows", [(i, ragged.size("N")), (j, n(i)), (k, 8)])
    w = ragged.input_tensor("w", [(k, 8), (ragged.dim("o"), 8)])
    linear = ragged.compute(
        "y",
        [*rows.dims[:2], (ragged.dim("o"), 8)],
        lambda b, t, o: ragged.sum(8, lambda s: ragged.exp(rows[b, t, s]) * w[s, o]),
    )
    assert not factors_of(linear)


def test_factors_that_are_alike_are_one():
    x, m = ragged.input_tensor("x", [(k, 300), (i, 40)]), ragged.input_tensor("m", [(i, 40)])
    given = data(300, 40), data(40)
    for sign, count in ((-1.0, 1), (1.0, 2)):

        def element(p, q, sign=sign):
            return ragged.sum(k, lambda s: (x[s, p] + -1.0 * m[p]) * (x[s, q] + sign * m[q]))

        program = ragged.compute("c", [(i, 40), (j, 40)], element)
        assert len(factors_of(program)) == count
        function = ragged.compile(program)
        exact, mean = (each.astype(float) for each in given)
        np.testing.assert_allclose(
            function(x=given[0], m=given[1]),
            (exact - mean).T @ (exact + sign * mean),
            rtol=1e-4,
            atol=1e-3,
        )
        assert "c_factor: workspace(float32[300, 40])" in function.show("loops")


@pytest.mark.parametrize("dtype", ["int8", "int32", "float16"])
def test_converted_operands_are_stored_as_they_were(dtype):
    a = ragged.input_tensor("a", [(i, 5), (k, 40)], dtype=dtype)
    b = ragged.input_tensor("b", [(k, 40), (j, 33)], dtype=dtype)
    c = ragged.compute("c", [(i, 5), (j, 33)], lambda p, q: ragged.sum(k, lambda s: a[p, s] * b[s, q]))
    assert not factors_of(c)
    one, other = ((10 * data(*shape)).astype(dtype) for shape in ((5, 40), (40, 33)))
    function = ragged.compile(c)
    wanted = one.astype(float) @ other.astype(float)
    np.testing.assert_allclose(function(a=one, b=other), wanted, rtol=1e-4, atol=1e-3)
    assert re.search(r"b_wide: workspace\(\w+\[40, 33\]", function.show("loops"))


def test_a_factor_at_indices_that_are_read_stays():
    table = ragged.input_tensor("table", [(i, ragged.size("V")), (k, 8)])
    at = ragged.input_tensor("at", [(j, ragged.size("M"))], "int32")
    w = ragged.input_tensor("w", [(ragged.dim("o"), 9), (k, 8)])
    y = ragged.compute(
        "y",
        [(j, ragged.size("M")), (ragged.dim("o"), 9)],
        lambda p, q: ragged.sum(k, lambda s: ragged.exp(table[at[p], s]) * w[q, s]),
    )
    assert not factors_of(y)
    a, index, b = data(5, 8), np.array([4, 0, 4], np.int32), data(9, 8)
    found = ragged.compile(y)(table=a, at=index, w=b)
    np.testing.assert_allclose(found, np.exp(a.astype(float))[index] @ b.T, rtol=1e-4, atol=1e-4)
