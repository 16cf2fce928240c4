"""Reductions over contiguous elements in programs of users: in lanes, whatever stands around them."""

import re

import numpy as np
import pytest

import ragged
from ragged.api.tensors import RaggedTensor
from ragged.ir.dtype import DType

LENGTHS = (0, 1, 3, 4, 5, 15, 16, 17, 31, 63, 64, 65, 100, 127, 130)
ROWS = 5


def data(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, dtype=np.float32)


def programs(rows, length) -> dict[str, RaggedTensor]:
    """Return programs over x (rows, length) by name."""
    i, j = ragged.dim("i"), ragged.dim("j")
    x = ragged.input_tensor("x", [(i, rows), (j, length)])

    def of_rows(name, function):
        return ragged.compute(name, [(i, rows)], function)

    def of_elements(name, function):
        return ragged.compute(name, [(i, rows), (j, length)], function)

    most = of_rows("most", lambda a: ragged.max(length, lambda k: x[a, k]))
    weights = of_elements("weights", lambda a, b: ragged.exp(x[a, b] - most[a]))
    total = of_rows("total", lambda a: ragged.sum(length, lambda k: weights[a, k]))
    return {
        "sum": of_rows("y", lambda a: ragged.sum(length, lambda k: x[a, k])),
        "max": most,
        "scaled": of_rows("y", lambda a: 2.0 - ragged.sum(length, lambda k: x[a, k] * x[a, k]) / 3.0),
        "started": of_rows("y", lambda a: ragged.sum(length, lambda k: x[a, k], init=x[a, 0])),
        "softmax": of_elements("y", lambda a, b: weights[a, b] / total[a]),
        "softmax in one": of_elements(
            "y",
            lambda a, b: (
                ragged.exp(x[a, b] - ragged.max(length, lambda k: x[a, k]))
                / ragged.sum(length, lambda k: ragged.exp(x[a, k] - ragged.max(length, lambda q: x[a, q])))
            ),
        ),
        "whole": ragged.compute("y", [], lambda: ragged.sum((rows, length), lambda a, b: x[a, b])),
        "largest": ragged.compute("y", [], lambda: ragged.max((rows, length), lambda a, b: x[a, b])),
    }


def wanted(name: str, x):
    x = x.astype(float)
    match name:
        case "sum":
            return x.sum(1)
        case "max":
            return x.max(1, initial=-np.inf)
        case "scaled":
            return 2 - (x * x).sum(1) / 3
        case "started":
            return x[:, 0] + x.sum(1)
        case "whole":
            return x.sum()
        case "largest":
            return x.max(initial=-np.inf)
        case _:
            weights = np.exp(x - x.max(1, keepdims=True, initial=-np.inf))
            return weights / weights.sum(1, keepdims=True)


NAMES = list(programs(2, 3))
SOME = {name: ragged.compile(y) for name, y in programs(ragged.size("N"), ragged.size("K")).items()}


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", NAMES)
def test_rows_of_any_length(name, length):
    if name == "started" and not length:
        return  # there is no element to start from
    x = data(ROWS, length)
    np.testing.assert_allclose(SOME[name](x=x), wanted(name, x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", (3, 5, 17, 100))
@pytest.mark.parametrize("name", NAMES)
def test_sizes_threads_and_schedules_change_no_bit(name, length):
    x = data(ROWS, length)
    fixed = programs(ROWS, length)[name]
    some = SOME[name](x=x).tobytes()
    for options in ({}, {"threads": 1}, {"schedule": None}):
        assert ragged.compile(fixed, **options)(x=x).tobytes() == some


@pytest.mark.parametrize("name", NAMES)
def test_the_loop_inside_those_over_terms_is_of_lanes(name):
    loops = SOME[name].show("loops")
    assert re.search(r"for lane\w* in vectorized\(", loops), loops


def test_rows_of_sequences_are_in_lanes_but_not_what_a_product_of_them_gives():
    """Those of attention's scores have tiles of rows: the lanes are of rows."""
    b, t, u = ragged.dim("b"), ragged.dim("t"), ragged.dim("u")
    n = ragged.length_fn("n", b)
    count = ragged.size("B")
    x = ragged.input_tensor("x", [(b, count), (t, n(b)), (ragged.dim("d"), 8)])
    flat = ragged.input_tensor("flat", [(b, count), (t, n(b))])
    mean = ragged.compute("mean", [(b, count)], lambda i: ragged.sum(n(i), lambda j: flat[i, j]))
    scores = ragged.compute(
        "scores",
        [(b, count), (t, n(b)), (u, n(b))],
        lambda i, j, k: ragged.sum(8, lambda d: x[i, j, d] * x[i, k, d]),
    )
    most = ragged.compute(
        "most", [(b, count), (t, n(b))], lambda i, j: ragged.max(n(i), lambda k: scores[i, j, k])
    )
    assert [each.name for each in ragged.Schedule(mean).tensors] == [
        "flat",
        "mean_lanes",
        "mean_sixteens",
        "mean_fours",
        "mean",
    ]
    assert [each.name for each in ragged.Schedule(most).tensors] == ["x", "scores", "most"]
    rows = [data(length) for length in (0, 5, 70)]
    found = ragged.compile(mean)(flat=ragged.array(rows))
    np.testing.assert_allclose(found, [each.sum(dtype=float) for each in rows], rtol=1e-5, atol=1e-6)


def test_rows_of_one_column_are_in_lanes():
    i, j, one = ragged.dim("i"), ragged.dim("j"), ragged.dim("one")
    x = ragged.input_tensor("x", [(i, ragged.size("N")), (j, 100)])
    w = ragged.input_tensor("w", [(j, 100), (one, 1)])
    y = ragged.compute(
        "y", [(i, ragged.size("N")), (one, 1)], lambda a, b: ragged.sum(j, lambda k: x[a, k] * w[k, b])
    )
    function = ragged.compile(y)
    assert re.search(r"for lane\w* in unrolled\(", function.show("loops"))
    a, v = data(7, 100), data(100)[:, None]
    np.testing.assert_allclose(function(x=a, w=v), a.astype(float) @ v, rtol=1e-5, atol=1e-5)


def test_what_is_computed_from_the_same_on_many_ways_is_looked_at_once():
    b, t = ragged.dim("b"), ragged.dim("t")
    n = ragged.length_fn("n", b)
    x = ragged.input_tensor("x", [(b, ragged.size("B")), (t, n(b))])
    for layer in range(60):
        x = ragged.compute(f"x{layer}", x.dims, lambda i, j, x=x: x[i, j] + ragged.exp(x[i, j]) * x[i, j])
        total = ragged.compute("total", x.dims[:1], lambda i, x=x: ragged.sum(n(i), lambda j: x[i, j]))
        x = ragged.compute("y", x.dims, lambda i, j, x=x, total=total: x[i, j] / total[i] + x[i, j])
    assert "total_lanes" in {each.name for each in ragged.Schedule(x).tensors}


@pytest.mark.parametrize("schedule", ["default", None])
@pytest.mark.parametrize("fixed", [True, False])
def test_reductions_of_columns_in_an_expression_of_one_number(fixed, schedule):
    i, j = ragged.dim("i"), ragged.dim("j")
    rows, columns = (40, 100) if fixed else map(ragged.size, "NK")
    x = ragged.input_tensor("x", [(i, rows), (j, columns)])

    def total(v):
        return ragged.sum(rows, lambda u: x[u, v])

    a = data(40, 100)
    exact = a.astype(float)
    mean = exact.sum(0).mean()
    found = {
        "largest": (lambda: ragged.max(columns, total), exact.sum(0).max()),
        "in an expression": (lambda: 1.0 + ragged.max(columns, total), 1 + exact.sum(0).max()),
        "variance": (
            lambda: ragged.sum(columns, lambda v: (total(v) - mean) * (total(v) - mean)) / 100.0,
            exact.sum(0).var(),
        ),
    }
    for name, (function, wanted) in found.items():
        y = ragged.compile(ragged.compute("y", [], function), schedule=schedule)(x=a)
        np.testing.assert_allclose(y, wanted, rtol=1e-4, err_msg=name)
    norm = ragged.compute(
        "y",
        x.dims,
        lambda p, q: x[p, q] / ragged.max(columns, lambda v: ragged.sum(rows, lambda u: ragged.abs(x[u, v]))),
    )
    y = ragged.compile(norm, schedule=schedule)(x=a)
    np.testing.assert_allclose(y, exact / abs(exact).sum(0).max(), rtol=1e-4)


@pytest.mark.parametrize("features", [2, 64, None])
@pytest.mark.parametrize("combine", ["sum", "max"])
def test_reductions_over_rows_of_different_lengths_and_their_batch(combine, features):
    """An axis says how far the next one goes."""
    b, t, d = ragged.dim("b"), ragged.dim("t"), ragged.dim("d")
    n, count = ragged.length_fn("n", b), ragged.size("B")
    width = ragged.size("D") if features is None else features
    reduce = getattr(ragged, combine)
    flat = ragged.input_tensor("flat", [(b, count), (t, n(b))])
    x = ragged.input_tensor("x", [(b, count), (t, n(b)), (d, width)])
    rows = [data(length) for length in (70, 0, 5)]
    whole = ragged.compute("y", [], lambda: reduce(count, lambda q: reduce(n(q), lambda s: flat[q, s])))
    found = ragged.compile(whole)(flat=ragged.array(rows))
    np.testing.assert_allclose(found, getattr(np.concatenate(rows).astype(float), combine)(), rtol=1e-5)
    planes = [data(length, features or 9) for length in (70, 0, 5)]
    deep = ragged.compute(
        "y",
        [],
        lambda: reduce(count, lambda q: reduce(n(q), lambda s: reduce(width, lambda r: x[q, s, r]))),
    )
    found = ragged.compile(deep)(x=ragged.array(planes))
    np.testing.assert_allclose(found, getattr(np.concatenate(planes).astype(float), combine)(), rtol=1e-4)


def test_columns_of_squares_are_summed_side_by_side():
    i, j = ragged.dim("i"), ragged.dim("j")
    rows, columns = map(ragged.size, "NK")
    x = ragged.input_tensor("x", [(i, rows), (j, columns)])
    y = ragged.compute(
        "y", [(j, columns)], lambda v: ragged.sqrt(ragged.sum(rows, lambda u: x[u, v] * x[u, v]))
    )
    assert ragged.Schedule(y).decisions.at == {}, "the sum is a nest of its own"
    a = data(40, 100)
    np.testing.assert_allclose(ragged.compile(y)(x=a), np.linalg.norm(a.astype(float), axis=0), rtol=1e-5)


@pytest.mark.parametrize("rows", [1, 3])
def test_one_row_times_a_matrix_of_parameters_is_rounded_too(rows):
    i, j, k = ragged.dim("i"), ragged.dim("j"), ragged.dim("k")
    x, w = ragged.input_tensor("x", [(i, rows), (k, 64)]), ragged.parameter("w", [(j, 48), (k, 64)])
    y = ragged.compute("y", [(i, rows), (j, 48)], lambda p, q: ragged.sum(k, lambda s: x[p, s] * w[q, s]))
    a, b = data(rows, 64), data(48, 64)
    found = ragged.compile(y, {"w": b}, precision="bf16")(x=a)
    rounded = [each.astype(DType.BFLOAT16.numpy).astype(float) for each in (a, b)]
    np.testing.assert_allclose(found, rounded[0] @ rounded[1].T, rtol=1e-4, atol=1e-4)
