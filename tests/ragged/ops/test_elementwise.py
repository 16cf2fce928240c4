"""Elementwise arithmetic and pooling against NumPy, with all that is broadcast."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings

import ragged
from ragged import Lengths, RaggedArray, ops
from tests.ragged.ops.batches import LENGTHS, PAIRS, SEEDS, matrices, normal, rows

FEW = settings(max_examples=15)
OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


def same(result: RaggedArray, expected: list[np.ndarray]) -> None:
    """Compare row for row: each operation is rounded once, as NumPy's."""
    assert len(result) == len(expected)
    for mine, theirs in zip(result, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(mine), theirs)


@pytest.mark.parametrize("name", OPERATORS)
@FEW
@given(lengths=LENGTHS, seed=SEEDS)
def test_arrays_of_one_shape(name, lengths, seed):
    function = OPERATORS[name]
    for inner in ((), (5,)):
        a, b = rows(lengths, *inner, seed=seed), rows(lengths, *inner, seed=seed + 1)
        expected = [function(x, y) for x, y in zip(a, b, strict=True)]
        same(getattr(ops, name)(a, b), expected)


@pytest.mark.parametrize("width", [1, 17, 48])
@FEW
@example(lengths=[], seed=0)
@example(lengths=[0, 0], seed=0)
@given(lengths=LENGTHS, seed=SEEDS)
def test_what_is_broadcast(width, lengths, seed):
    x = rows(lengths, width, seed=seed)
    features, own = normal(seed + 1, width), normal(seed + 2, len(lengths), width)
    scalars = rows(lengths, 1, seed=seed + 3)
    same(ops.sub(x, features), [row - features for row in x])
    same(ops.sub(features, x), [features - row for row in x])
    same(ops.mul(x, own), [row * vector for row, vector in zip(x, own, strict=True)])
    same(ops.mul(own[:, None], x), [row * vector for row, vector in zip(x, own, strict=True)])
    same(ops.add(scalars, x), [row + one for row, one in zip(x, scalars, strict=True)])
    same(ops.div(3, x), [np.float32(3) / row for row in x])
    same(ops.div(x, np.float64(7)), [row / np.float32(7) for row in x])


@FEW
@example(pairs=[(0, 3), (3, 0), (0, 0)], seed=0)
@given(pairs=PAIRS, seed=SEEDS)
def test_matrices(pairs, seed):
    x, y, own = matrices(pairs, seed), matrices(pairs, seed + 1), normal(seed, len(pairs))
    same(ops.add(x, y), [a + b for a, b in zip(x, y, strict=True)])
    same(ops.mul(x, own), [a * b for a, b in zip(x, own, strict=True)])
    assert ops.add(x, y).extents[2].over == (0,)


def test_lengths_over_two_dimensions():
    inner = np.array([1, 0, 17, 4, 2], np.int32)
    extents = (2, Lengths((0,), [3, 2]), Lengths((0, 1), inner), 3)
    x = RaggedArray(normal(0, int(inner.sum()) * 3), extents)
    result = ops.mul(x, np.array([1, 2, 4], np.float32))
    np.testing.assert_array_equal(
        result.values.reshape(-1, 3), x.values.reshape(-1, 3) * np.float32([1, 2, 4])
    )
    np.testing.assert_allclose(
        ops.sum_pool(x, 2).values.reshape(-1, 3),
        np.add.reduceat(np.vstack([x.values.reshape(-1, 3), np.zeros((1, 3))]), [0, 1, 1, 18, 22])
        * (inner > 0)[:, None],
        rtol=1e-5,
        atol=1e-5,
    )


def test_other_ways_to_hold_rows():
    """What `ragged.array` takes, padded storage, arrays of rows of one length, tensors of torch's."""
    x = rows([3, 1, 2], 4)
    doubled = [row * 2 for row in x]
    same(ops.add(list(x), x), doubled)
    same(ops.add(x.with_padding((1, 4, 1)), x), doubled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that nested tensors are a prototype
        same(ops.add(x.to_torch(), torch.tensor(2.0)), [row + 2 for row in x])
    dense = normal(1, 2, 3, 4)
    same(ops.mul(ragged.array(dense), 2.0), list(dense * 2))


@pytest.mark.parametrize("width", [1, 17, 48])
@FEW
@example(lengths=[], seed=0)
@example(lengths=[0, 0], seed=0)
@given(lengths=LENGTHS, seed=SEEDS)
def test_pooling(width, lengths, seed):
    x = rows(lengths, width, seed=seed)
    shape = (len(lengths), width)
    wide = [np.asarray(row, np.float64) for row in x]
    with np.errstate(invalid="ignore"):
        means = [row.sum(0) / np.float64(len(row)) for row in wide]
    expected = {
        ops.sum_pool: [row.sum(0) for row in wide],
        ops.mean_pool: means,
        ops.max_pool: [row.max(0, initial=-np.inf) for row in wide],
    }
    for pool, rows_of in expected.items():
        result = pool(x)
        assert isinstance(result, np.ndarray) and result.dtype == np.float32 and result.shape == shape
        np.testing.assert_allclose(result, np.array(rows_of).reshape(shape), rtol=1e-5, atol=1e-5)
    for mine, row in zip(ops.max_pool(x, axis=-1), wide, strict=True):
        np.testing.assert_array_equal(mine, row.max(1))


@FEW
@given(pairs=PAIRS, seed=SEEDS)
def test_pooling_of_matrices(pairs, seed):
    x = matrices(pairs, seed)
    for axis in (1, 2):
        for mine, row in zip(ops.sum_pool(x, axis), x, strict=True):
            np.testing.assert_allclose(mine, row.sum(axis - 1, dtype=np.float64), rtol=1e-5, atol=1e-5)


def test_empty_rows_are_as_in_torch():
    x = rows([0, 2], 3)
    empty = torch.zeros(0, 3)
    np.testing.assert_array_equal(ops.sum_pool(x)[0], empty.sum(0).numpy())
    np.testing.assert_array_equal(ops.mean_pool(x)[0], empty.mean(0).numpy())  # NaN
    assert np.isneginf(ops.max_pool(x)[0]).all()  # torch refuses it


@pytest.mark.parametrize(("name", "function"), [("tradd", np.add), ("trmul", np.multiply)])
@pytest.mark.parametrize("n", [0, 1, 5, 16, 17, 100])
def test_triangles(name, function, n):
    a, b = normal(1, n, n), normal(2, n, n)
    above = np.triu(np.full((n, n), np.nan, np.float32), 1)
    expected = np.tril(function(a, b))
    for left in (a + above, ops.triangle(a)):
        for right in (b, ops.triangle(b)):
            result = getattr(ops, name)(left, right)
            assert result.size == n * (n + 1) // 2
            np.testing.assert_array_equal(result.to_padded(), expected)
