"""Sizes that parameters have: solved when they are bound, once for all calls."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import ragged
from ragged.errors import DataError, ModelError

r, c, k = ragged.dim("r"), ragged.dim("c"), ragged.dim("k")


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@cache
def dense():
    """X W^T + b, with hidden dimensions that the parameters have."""
    m, h, i = ragged.size("M"), ragged.size("H"), ragged.size("I")
    x = ragged.input_tensor("X", [(r, m), (k, i)])
    w = ragged.parameter("W", [(c, h), (k, i)])
    b = ragged.parameter("b", [(c, h)])
    return ragged.compute(
        "Y", [(r, m), (c, h)], lambda p, q: b[q] + ragged.sum(k, lambda t: x[p, t] * w[q, t])
    )


def params(columns: int, inner: int) -> dict[str, np.ndarray]:
    return {"W": numbers(columns, inner), "b": numbers(columns)}


@pytest.fixture(scope="module")
def function():
    return ragged.compile(dense(), params(20, 24), threads=2)


@pytest.mark.parametrize(
    ("columns", "inner"), [(20, 24), (1, 1), (17, 49), (49, 1), (33, 767), (3, 0), (0, 3)]
)
def test_one_function_for_all_hidden_dimensions(function, columns, inner):
    own = params(columns, inner)
    f = function.with_params(own)
    for rows in (0, 1, 15, 40):
        x = numbers(rows, inner, seed=1)
        found = f(X=x)
        assert found.shape == (rows, columns)
        np.testing.assert_allclose(found, x @ own["W"].T + own["b"], rtol=1e-4, atol=1e-4)
        assert found.tobytes() == function.with_params(own)(X=x).tobytes()


def test_calls_do_not_solve_them(function):
    assert {argument.symbol.name for argument in function._caller.wanted} == {"M", "X"}
    assert dict(function.observed()[0].sizes if function.observed() else {}).get("H", 20) == 20


def test_parameters_are_packed_when_they_are_bound():
    x = ragged.input_tensor("X", [(r, ragged.size("M")), (k, ragged.size("I"))])
    w = ragged.parameter("W", [(c, ragged.size("H")), (k, ragged.size("I"))])
    y = ragged.compute("Y", [x.dims[0], w.dims[0]], lambda p, q: ragged.sum(k, lambda t: x[p, t] * w[q, t]))
    f = ragged.compile(y, {"W": numbers(20, 24)}, threads=2)
    before, _, kernel = f.show("loops").partition("with kernel:")
    assert "W_packed" in kernel and "with bind:" in before and "W_packed: bound(" in before
    for columns, inner in ((20, 24), (17, 49), (130, 3), (1, 0)):
        own, a = numbers(columns, inner), numbers(9, inner, seed=1)
        found = f.with_params({"W": own})(X=a)
        np.testing.assert_allclose(found, a @ own.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("columns", [1, 2, 10, 64, 65, 128])
def test_a_fixed_number_of_columns_on_a_team(columns):
    x = ragged.input_tensor("X", [(r, ragged.size("M")), (k, ragged.size("I"))])
    w = ragged.parameter("W", [(c, columns), (k, ragged.size("I"))])
    y = ragged.compute("Y", [x.dims[0], w.dims[0]], lambda p, q: ragged.sum(k, lambda t: x[p, t] * w[q, t]))
    own = numbers(columns, 37)
    f = ragged.compile(y, {"W": own}, threads=2)
    for rows in (1, 3, 50):
        a = numbers(rows, 37, seed=1)
        np.testing.assert_allclose(f(X=a), a @ own.T, rtol=1e-4, atol=1e-4)


def test_sizes_that_disagree(function):
    with pytest.raises(DataError) as error:
        function.with_params({"W": numbers(20, 24), "b": numbers(21)})
    assert str(error.value) == (
        "Y: parameter 'W' extends 20 in dimension 0, and H is 21\n  because: Y: parameter 'b' has H = 21"
    )
    with pytest.raises(DataError) as error:
        function(X=numbers(3, 25))
    assert str(error.value) == "Y: 'X' extends 25 in dimension 'k', and Y: parameter 'W' has I = 24"
    with pytest.raises(DataError, match="'H' is 7, and Y: parameter 'b' has H = 20"):
        function(X=numbers(3, 24), H=7)


def test_affine_extents_of_parameters():
    h = ragged.size("H")
    w = ragged.parameter("W", [(c, 4 * h + 1)])
    x = ragged.input_tensor("X", [(r, h)])
    f = ragged.compile(ragged.compute("Y", [(r, h)], lambda i: x[i] * w[4 * i + 1]), {"W": numbers(13)})
    np.testing.assert_array_equal(f(X=numbers(3, seed=2)), numbers(3, seed=2) * numbers(13)[1::4])
    with pytest.raises(DataError, match="H would be 11/4, and a size is an integer from 0 up"):
        f.with_params({"W": numbers(12)})
    with pytest.raises(ModelError, match=r"'W' has shape \(1, 13\), not \(4 \* H \+ 1,\)"):
        f.with_params({"W": numbers(1, 13)})


def test_sizes_that_no_parameter_gives():
    w = ragged.parameter("W", [(c, ragged.size("H") + ragged.size("I"))])
    y = ragged.compute("Y", [(r, ragged.size("H"))], lambda i: w[i])
    with pytest.raises(DataError) as error:
        ragged.compile(y, {"W": numbers(5)})
    assert str(error.value) == (
        "Y: parameter 'W' extends 5 in dimension 0, which is H + I\n"
        "  because: H does not follow from that\n"
        "  fix: a parameter that extends H"
    )


def test_extents_of_parameters_that_only_a_call_knows():
    n = ragged.length_fn("n", over=r)
    with pytest.raises(ModelError, match="is not known before a call"):
        ragged.parameter("W", [(r, 3), (c, n(r))])


def test_in_a_file(function, tmp_path):
    f = function.with_params(params(7, 9))
    f.save(tmp_path / "dense.ragged")
    loaded = ragged.load(tmp_path / "dense.ragged")
    assert str(loaded.signature) == "(X: float32[r, k], b: float32[H], W: float32[H, I]) -> Y: float32[r, c]"
    x = numbers(11, 9)
    assert loaded(X=x).tobytes() == f(X=x).tobytes()
