"""Operators on rows of features, against padded NumPy, for all lengths by one compiled function each."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np
import pytest
from hypothesis import example, given, settings

import ragged
from ragged import ops
from ragged.ops.linear import _program as linear_program
from tests.ragged.ops import reference
from tests.ragged.ops.batches import LENGTHS, PAIRS, SEEDS, check, matrices, normal, rows, weights
from tests.support.agreement import error

FEW = settings(max_examples=20)
WIDTHS = pytest.mark.parametrize("width", [1, 17, 48, 512])


@pytest.mark.parametrize(
    ("inner", "outer", "activation"),
    [
        (1, 17, "relu"),
        (17, 1, None),
        (3, 1, "gelu"),
        (150, 1, "relu"),
        (48, 48, "gelu"),
        (512, 48, "relu"),
        (17, 512, "gelu"),
    ],
)
@FEW
@example(lengths=[], seed=0)
@example(lengths=[0, 0, 0], seed=0)
@given(lengths=LENGTHS, seed=SEEDS)
def test_linear(inner, outer, activation, lengths, seed):
    x = rows(lengths, inner, seed=seed)
    layer = ops.Linear(inner, outer, activation=activation)
    state = weights(layer.shapes, seed)
    layer.load_state_dict(state)
    expected = reference.linear(reference.padded(x), state["weight"], state["bias"], activation)
    check(layer(x), expected, x)
    check(ops.linear(x, state["weight"], state["bias"], activation), expected, x)


def test_linear_without_bias():
    x, weight = rows([3, 0, 5], 8), normal(1, 4, 8)
    layer = ops.Linear(8, 4, bias=False)
    layer.load_state_dict({"weight": weight})
    expected = reference.linear(reference.padded(x), weight, None)
    check(layer(x), expected, x)
    check(ops.linear(x, weight), expected, x)


@WIDTHS
@FEW
@example(lengths=[], seed=0)
@example(lengths=[0, 0, 0], seed=0)
@given(lengths=LENGTHS, seed=SEEDS)
def test_layer_norm(width, lengths, seed):
    x = rows(lengths, width, seed=seed)
    layer = ops.LayerNorm(width)
    state = weights(layer.shapes, seed)
    layer.load_state_dict(state)
    expected = reference.layer_norm(reference.padded(x), state["weight"], state["bias"])
    check(layer(x), expected, x)
    check(ops.layer_norm(x, state["weight"], state["bias"]), expected, x)


def test_layer_norm_without_parameters():
    x = rows([2, 7], 17)
    layer = ops.LayerNorm(17, 0.5, affine=False)
    layer.load_state_dict({})
    expected = reference.layer_norm(reference.padded(x), None, None, 0.5)
    check(layer(x), expected, x)
    check(ops.layer_norm(x, eps=0.5), expected, x)


def test_layer_norm_of_a_mean_far_from_zero():
    """Squares of what is left of the mean: those of the elements would cancel. The mean itself is rounded to 6e-5."""
    x = ops.add(rows([5, 3], 48), 1000.0)
    expected = reference.layer_norm(reference.padded(x), None, None)
    assert all(
        error(mine, row[: len(mine)]) < 1e-3 for mine, row in zip(ops.layer_norm(x), expected, strict=True)
    )


@WIDTHS
@pytest.mark.parametrize("axis", [1, 2])
@FEW
@example(lengths=[], seed=0)
@example(lengths=[0, 0, 0], seed=0)
@given(lengths=LENGTHS, seed=SEEDS)
def test_softmax(width, axis, lengths, seed):
    x = rows(lengths, width, seed=seed)
    check(ops.softmax(x, axis), reference.softmax(reference.padded(x), axis), x)


@FEW
@example(pairs=[], seed=0)
@example(pairs=[(3, 0), (0, 3), (0, 0)], seed=0)
@given(pairs=PAIRS, seed=SEEDS)
def test_softmax_of_scores(pairs, seed):
    x = matrices(pairs, seed)
    check(ops.softmax(x), reference.softmax(reference.padded(x), 2), x)


@FEW
@given(lengths=LENGTHS, seed=SEEDS)
def test_softmax_of_numbers(lengths, seed):
    x = rows(lengths, seed=seed)
    result, expected = ops.softmax(x), reference.softmax(reference.padded(x), 1)
    for mine, theirs in zip(result, expected, strict=True):
        assert error(mine, theirs[: len(mine)]) <= 1e-5


@pytest.mark.parametrize("inner", [(2, 17), (9, 2), (3, 8), (2, 3, 33)])
@pytest.mark.parametrize("operator", [ops.softmax, ops.sum_pool, ops.mean_pool, ops.max_pool])
def test_each_dimension_of_rows_of_matrices(inner, operator):
    x = rows([3, 0, 5], *inner)
    for axis in range(2, 2 + len(inner)):
        for mine, row in zip(operator(x, axis=axis), x, strict=True):
            wide, own = np.asarray(row, np.float64), axis - 1
            powers = np.exp(wide - wide.max(own, keepdims=True, initial=-np.inf))
            expected = {
                ops.softmax: powers / powers.sum(own, keepdims=True),
                ops.sum_pool: wide.sum(own),
                ops.mean_pool: wide.mean(own),
                ops.max_pool: wide.max(own),
            }[operator]
            assert mine.shape == expected.shape
            if len(row):
                assert error(mine, expected) <= 1e-5


def test_widths_of_zero_give_results_of_none():
    none, some = rows([3, 2], 0), rows([3, 2], 5)
    assert ops.linear(some, np.ones((0, 5), np.float32)).shape == (2, None, 0)
    assert ops.layer_norm(none).shape == ops.softmax(none).shape == (2, None, 0)
    assert ops.scaled_dot_product_attention(none, none, none).shape == (2, None, 0)
    assert (
        ops.linear(none, np.ones((4, 0), np.float32), np.full(4, 2.0, np.float32)).values.tolist()
        == [2.0] * 20
    )


def test_a_dimension_may_be_an_integer_of_numpy():
    x = rows([3, 2], 4)
    assert ops.softmax(x, np.int64(-1)).equal(ops.softmax(x))
    assert np.array_equal(ops.sum_pool(x, np.int32(1)), ops.sum_pool(x))


def test_softmax_of_rows_in_rows_in_rows():
    lists = [[[1.0, 2.0], [3.0]], [], [[4.0, 5.0, 6.0]]]
    found = ops.softmax(ragged.array(lists)).to_list()
    for one, row in zip(chain(*found), chain(*lists), strict=True):
        weights = np.exp(row) / np.exp(row).sum()
        np.testing.assert_allclose(one, weights, rtol=1e-6)


@pytest.mark.parametrize("length", [[1, 2, 0], [40, 16, 3]])
@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
def test_pools_of_rows_that_stand_behind_a_dense_dimension(pool, length):
    rows = [normal(n, 3, n) for n in length]
    values = np.concatenate([row.reshape(-1) for row in rows])
    x = ragged.RaggedArray(values, (len(length), 3, ragged.Lengths((0,), length)))
    with np.errstate(all="ignore"):
        found = getattr(ops, f"{pool}_pool")(x, axis=2)
    for one, row in zip(found, rows, strict=True):
        if row.shape[1]:
            np.testing.assert_allclose(one, getattr(row, pool)(axis=1), rtol=1e-5, atol=1e-6)


def test_softmax_of_large_numbers():
    x = ops.mul(rows([4, 20], 33), 200.0)
    check(ops.softmax(x), reference.softmax(reference.padded(x), 2), x)


def test_gelu_is_within_3e_7():
    place, n = ragged.dim("place"), ragged.size("n")
    x = ragged.input_tensor("x", [(place, n)])
    f = ragged.compile(ragged.compute("y", x.dims, lambda i: ragged.gelu(x[i])))
    numbers = np.linspace(-12, 12, 100_001, dtype=np.float32)
    expected = reference.gelu(numbers.astype(np.float64))
    assert (np.abs(f(x=numbers) - expected) <= 3e-7 * np.maximum(1.0, np.abs(numbers))).all()


@pytest.mark.parametrize(("inner", "outer"), [(150, 600), (600, 150), (96, 300)])
def test_rows_of_a_width_that_fills_no_vectors_share_loads(inner, outer):
    """Columns beside the last whole vector leave a product to the tiles of several rows."""
    random = np.random.default_rng(0)
    weight = random.standard_normal((outer, inner), np.float32)
    function = ragged.compile(
        linear_program(inner, outer, None, False, ragged.parameter), {"linear_weight": weight}, threads=1
    )
    tiles = re.findall(r"_acc = local\(float32\[(\d+), \d+\]", function.show("loops"))
    assert max(map(int, tiles), default=0) > 1
    x = [random.standard_normal((length, inner), np.float32) for length in (1, 0, 7, 13)]
    found = function(x=ragged.array(x))
    np.testing.assert_allclose(found[3], x[3] @ weight.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_one_feature_is_a_dot_product_in_lanes(dtype):
    values, weight = normal(0, 8, 150).astype(dtype), normal(1, 1, 150).astype(dtype)
    found = ops.linear(ragged.array(values, lengths=np.int32([3, 0, 5])), weight)
    assert found.dtype == dtype
    expected = values.astype(np.float64) @ weight.astype(np.float64).T
    assert error(np.asarray(found.values, np.float64), expected.ravel()) <= (
        4e-3 if dtype == "float16" else 1e-5
    )
    function = ragged.compile(
        linear_program(150, 1, None, False, ragged.parameter),
        {"linear_weight": weight.astype(np.float32)},
        threads=1,
    )
    loops = function.show("loops")
    assert "linear_lanes" in loops and "linear_weight_packed" not in loops
