"""Operators on floats of every type, against float64: 16 bits are rounded where they are stored, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings

import ragged
from ragged import Lengths, RaggedArray, ops
from tests.ragged.ops import reference
from tests.ragged.ops.batches import EDGES, LENGTHS, SEEDS, matrices, normal, rows

FEW = settings(max_examples=8)
TYPES = pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
BOUNDS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float64": 1e-14}
"""The half of a unit in the last place, relative to a result of about 1; several of float64."""
OF_FLOAT32 = {"float16": 1e-5, "bfloat16": 1e-5, "float64": 0.0}
"""The errors of sums in float32."""
Rows = Sequence[np.ndarray[Any, Any]]


def agree(result: Any, expected: Rows, dtype: str) -> None:
    """Compare row for row: the one rounding of each element is relative to it, the errors of sums to the largest."""
    assert result.dtype == np.dtype(dtype) and len(result) == len(expected)
    for mine, theirs in zip(result, expected, strict=True):
        own = np.asarray(mine.to_padded() if isinstance(mine, RaggedArray) else mine).astype(np.float64)
        assert own.size == theirs.size
        most = max(1.0, np.abs(theirs).max(initial=0.0))
        bound = BOUNDS[dtype] * np.maximum(np.abs(theirs), 2.0**-14) + OF_FLOAT32[dtype] * most
        if dtype == "float64":
            bound = bound + 100 * BOUNDS[dtype] * most
        assert (np.abs(own.reshape(theirs.shape) - theirs) <= bound).all()


def cut(padded: np.ndarray[Any, Any], of: RaggedArray) -> Rows:
    """Return the rows of a padded result that has the lengths of `of`."""
    return [row[: len(own)] for row, own in zip(padded, of, strict=True)]


def wide(array: Any) -> np.ndarray[Any, Any]:
    return np.asarray(array).astype(np.float64)


@TYPES
@FEW
@example(lengths=[0, 0], seed=0)
@given(lengths=LENGTHS, seed=SEEDS)
def test_rows(dtype, lengths, seed):
    x = rows(lengths, 33, seed=seed).astype(dtype)
    w, b = normal(seed, 33).astype(dtype), normal(seed + 1, 33).astype(dtype)
    m = (normal(seed, 20, 33) / 6).astype(dtype)
    padded = reference.padded(x)
    for axis in (1, 2):
        agree(ops.softmax(x, axis), cut(reference.softmax(padded, axis), x), dtype)
    agree(ops.layer_norm(x, w, b), cut(reference.layer_norm(padded, wide(w), wide(b)), x), dtype)
    agree(ops.linear(x, m, activation="relu"), cut(reference.linear(padded, wide(m), None, "relu"), x), dtype)
    agree(ops.sum_pool(x), [wide(row).sum(0) for row in x], dtype)
    agree(ops.mean_pool(x, -1), [wide(row).mean(1) for row in x], dtype)
    largest = ops.max_pool(x, -1)
    assert largest.dtype == np.dtype(dtype)
    for mine, row in zip(largest, x, strict=True):
        np.testing.assert_array_equal(wide(mine), wide(row).max(1))


OPERATORS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "maximum": np.maximum}


@TYPES
@FEW
@given(lengths=LENGTHS, seed=SEEDS)
def test_elementwise_operators_round_once_as_numpy_does(dtype, lengths, seed):
    x, y = (rows(lengths, seed=seed + place).astype(dtype) for place in (0, 1))
    for name, function in OPERATORS.items():
        for mine, a, b in zip(getattr(ops, name)(x, y), x, y, strict=True):
            assert mine.dtype == np.dtype(dtype)
            np.testing.assert_array_equal(wide(mine), wide(function(a, b)))
    for mine, a in zip(ops.mul(x, 0.1), x, strict=True):
        np.testing.assert_array_equal(wide(mine), wide(a * np.dtype(dtype).type(0.1)))


@TYPES
@FEW
@example(pairs=[], seed=0)
@given(pairs=LENGTHS.map(lambda lengths: list(zip(lengths, reversed(lengths), strict=True))), seed=SEEDS)
def test_products_of_different_sizes(dtype, pairs, seed):
    a, b = [], []
    for place, (m, n) in enumerate(pairs):
        k = EDGES[(seed + place) % len(EDGES)]
        a.append((normal(seed + place, m, k) / 7).astype(dtype))
        b.append(normal(seed, k, n).astype(dtype))
    if pairs:
        agree(ops.vgemm(a, b), [wide(x) @ wide(y) for x, y in zip(a, b, strict=True)], dtype)
    x = matrices(pairs, seed).astype(dtype)
    agree(ops.vgemm(x, _transposed(x)), [_dense(each) @ _dense(each).T for each in x], dtype)


def _dense(each: Any) -> np.ndarray[Any, Any]:
    return wide(each.to_padded() if isinstance(each, RaggedArray) else each)


def _transposed(x: RaggedArray) -> RaggedArray:
    n, m = (np.array([_dense(each).shape[k] for each in x], np.int32) for k in (0, 1))
    values = [np.zeros(0, x.dtype), *(_dense(each).T.reshape(-1).astype(x.dtype) for each in x)]
    return RaggedArray(np.concatenate(values), (len(x), Lengths((0,), m), Lengths((0,), n)))


@TYPES
@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 130), (67, 20)])
def test_triangles(dtype, n, m):
    lower, b = (normal(0, n, n) / 8).astype(dtype), normal(1, n, m).astype(dtype)
    stored, low = ops.triangle(lower), np.tril(wide(lower))
    for each in (lower, stored):
        agree(ops.trmm(each, b), low @ wide(b), dtype)
    agree(ops.tradd(stored, lower), [2 * row[: i + 1] for i, row in enumerate(low)], dtype)
    agree(ops.trmul(stored, stored), [row[: i + 1] ** 2 for i, row in enumerate(low)], dtype)


@TYPES
def test_dense_arrays(dtype):
    a, b = (normal(0, 3, 9, 40) / 7).astype(dtype), normal(1, 3, 40, 21).astype(dtype)
    agree(ops.batch_matmul(a, b), wide(a) @ wide(b), dtype)
    out = np.empty((9, 21), dtype)
    assert ops.matmul(a[0], b[0], out=out) is out
    agree(out, wide(a[0]) @ wide(b[0]), dtype)
    x, w = normal(2, 2, 4, 9, 7).astype(dtype), (normal(3, 8, 4, 3, 3) / 6).astype(dtype)
    want = torch.nn.functional.conv2d(torch.from_numpy(wide(x)), torch.from_numpy(wide(w)), padding=1).numpy()
    agree(ops.conv2d(x, w, padding=1), want, dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_tensors_of_other_libraries(dtype):
    a = torch.from_numpy(normal(0, 5, 8)).to(dtype)
    found = ops.matmul(a, a, transpose_b=True)
    assert found.dtype == dtype and torch.allclose(found.double(), a.double() @ a.double().T, rtol=2**-8)
    assert ops.softmax(ragged.array([a, a[:2]])).dtype == np.dtype(str(dtype).removeprefix("torch."))


FORMS: dict[str, Callable[[str], dict[str, Any]]] = {
    "plain": lambda dtype: {},
    "causal": lambda dtype: {"causal": True, "scale": 0.25},
    "in a window": lambda dtype: {"window": (3, 0), "alibi": np.array([0.5, 0.25]).astype(dtype)},
}


@TYPES
@pytest.mark.parametrize("form", FORMS)
def test_attention(dtype, form):
    q, k, v = (rows([40, 0, 3], 2, 16, seed=seed).astype(dtype) for seed in range(3))
    own = FORMS[form](dtype)
    away = reference.distances(40, 40)
    bias = None
    if form == "in a window":
        hidden = np.where((away > 0) | (away < -3), -np.inf, 0.0)
        bias = hidden - np.array([0.5, 0.25])[None, :, None, None] * np.abs(away)
    expected = reference.attention(
        *map(reference.padded, (q, k, v)), form == "causal", own.get("scale"), bias
    )
    agree(ops.scaled_dot_product_attention(q, k, v, **own), cut(expected, q), dtype)
