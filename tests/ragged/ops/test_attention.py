"""Attention against padded NumPy: plain, causal, cross, and heads of any size."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given, settings

import ragged
from ragged import RaggedArray, ops
from ragged.api.values import Value
from ragged.errors import DataError
from ragged.ops.attend import Scoring, attention
from ragged.ops.dims import sequences
from tests.ragged.ops import reference
from tests.ragged.ops.batches import LENGTHS, PAIRS, SEEDS, check, matrices, rows, weights

FEW = settings(max_examples=15)
EMPTY = [(3, 0), (0, 3), (0, 0), (17, 16)]
"""Queries without keys, keys without queries, neither."""


@pytest.mark.parametrize(
    ("heads", "width", "causal"),
    [(2, 1, False), (3, 8, True), (2, 24, False), (1, 64, True), (1, 17, False)],
)
@FEW
@example(pairs=[], seed=0)
@example(pairs=[(0, 0), (0, 0)], seed=0)
@example(pairs=EMPTY, seed=0)
@given(pairs=PAIRS, seed=SEEDS)
def test_scaled_dot_product_attention(heads, width, causal, pairs, seed):
    n, m = ([pair[k] for pair in pairs] for k in (0, 1))
    q, k, v = (rows(each, heads, width, seed=seed + place) for place, each in enumerate((n, m, m)))
    result = ops.scaled_dot_product_attention(q, k, v, causal=causal)
    expected = reference.attention(*map(reference.padded, (q, k, v)), causal)
    check(result, expected, q)
    if 0 in m:
        assert all(not result[b].any() for b in np.flatnonzero(np.array(m) == 0))


@FEW
@example(pairs=EMPTY, seed=0)
@example(pairs=[(49, 3), (3, 49), (100, 100)], seed=1)
@given(pairs=PAIRS, seed=SEEDS)
def test_windows_slopes_and_rotations(pairs, seed):
    """Keys beyond a window are not computed; a query without keys in its window gives zeros."""
    heads, width = 2, 6
    n, m = ([pair[k] for pair in pairs] for k in (0, 1))
    q, k, v = (rows(each, heads, width, seed=seed + place) for place, each in enumerate((n, m, m)))
    slopes = np.array([0.5, 0.25], np.float32)
    angles = np.random.default_rng(seed).standard_normal((100, 3)).astype(np.float32)
    options = {"window": (5, 2), "scale": 0.3, "alibi": slopes, "rope": (np.cos(angles), np.sin(angles))}
    result = ops.scaled_dot_product_attention(q, k, v, **options)
    assert result.equal(ops.scaled_dot_product_attention(q, k, v, **{**options, "alibi": slopes.tolist()}))
    far = reference.distances(max(n, default=0), max(m, default=0))
    bias = -abs(far) * slopes[:, None, None] + np.where((far >= -5) & (far <= 2), 0, -np.inf)
    q_, k_, v_ = map(reference.padded, (q, k, v))
    turned = [reference.rotated(x, angles.astype(np.float64)) for x in (q_, k_)]
    check(result, reference.attention(*turned, v_, False, 0.3, bias), q)


@pytest.mark.parametrize("by_head", [False, True])
@FEW
@example(pairs=EMPTY, seed=0)
@given(pairs=PAIRS, seed=SEEDS)
def test_a_bias_and_a_mask(by_head, pairs, seed):
    """A causal place sees what the mask leaves of those up to its own; one that sees none gives zeros."""
    heads = 3
    n, m = ([pair[k] for pair in pairs] for k in (0, 1))
    q, k, v = (rows(each, heads, 8, seed=seed + place) for place, each in enumerate((n, m, m)))
    bias, mask = (_repeated(matrices(pairs, seed + place), heads if by_head else 0) for place in (3, 4))
    result = ops.scaled_dot_product_attention(q, k, v, causal=by_head, bias=bias, mask=mask > 0)
    added = bias.to_padded() + np.where(mask.to_padded() > 0, 0, -np.inf)
    expected = reference.attention(
        *map(reference.padded, (q, k, v)), by_head, bias=added if by_head else added[:, None]
    )
    check(result, expected, q)


def _repeated(x: RaggedArray, heads: int) -> RaggedArray:
    """Return matrices (B, n, m) once for each head, (B, heads, n, m), each with other numbers; themselves for none."""
    if not heads:
        return x
    extents = (x.extents[0], heads, *x.extents[1:])
    made = RaggedArray.zeros(extents)
    made.values[...] = np.random.default_rng(made.size).standard_normal(made.size)
    return made


def test_a_bias_of_each_head_is_a_list_of_arrays():
    lengths, heads = [(3, 5), (1, 1), (4, 2)], 2
    rng = np.random.default_rng(0)
    q, k, v = (
        ragged.array([rng.standard_normal((n[place], heads, 8)).astype(np.float32) for n in lengths])
        for place in (0, 1, 1)
    )
    bias = [rng.standard_normal((heads, *pair)).astype(np.float32) for pair in lengths]
    result = ops.scaled_dot_product_attention(
        q, k, v, bias=bias, mask=[np.ones((heads, *n), bool) for n in lengths]
    )
    for row, (one, its, own, added) in zip(
        result.rows(), zip(q.rows(), k.rows(), v.rows(), bias, strict=True), strict=True
    ):
        scores = np.einsum("nhd,mhd->hnm", one, its) / np.sqrt(8) + added
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        want = np.einsum("hnm,mhd->nhd", weights / weights.sum(-1, keepdims=True), own)
        np.testing.assert_allclose(row, want, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": (-1, 0)}, "window="),
        ({"bias": ragged.array([np.ones(3, np.float32)])}, "'bias' has 2 dimensions"),
        (
            {"bias": [np.ones((2, 3, 3), np.float32), np.ones((1, 2, 2), np.float32)]},
            "'bias' has arrays of 1 heads of float32 and of 2 heads of float32",
        ),
        ({"rope": (np.ones((9, 2)), np.ones((9, 2)))}, "features rotate in pairs"),
    ],
)
def test_options_that_fit_nothing(options, message):
    x = rows([3], 1, 5)
    with pytest.raises(DataError, match=message):
        ops.scaled_dot_product_attention(x, x, x, **options)


def test_one_head_has_no_dimension():
    n, m = [3, 18], [5, 2]
    q, k, v = (rows(each, 8, seed=place) for place, each in enumerate((n, m, m)))
    apart = [reference.padded(x)[:, :, None] for x in (q, k, v)]
    check(ops.scaled_dot_product_attention(q, k, v), reference.attention(*apart, False)[:, :, 0], q)


def test_a_bias_and_a_mask_for_all_heads_are_lists_of_matrices():
    n, m = [3, 18], [5, 2]
    q, k, v = (rows(each, 2, 8, seed=place) for place, each in enumerate((n, m, m)))
    random = np.random.default_rng(0)
    bias = [random.standard_normal(each, np.float32) for each in zip(n, m, strict=True)]
    mask = [each > -1 for each in bias]
    found = ops.scaled_dot_product_attention(q, k, v, bias=bias, mask=[each.tolist() for each in mask])
    whole = {
        "bias": [np.stack([each, each]) for each in bias],
        "mask": [np.stack([each, each]) for each in mask],
    }
    want = ops.scaled_dot_product_attention(q, k, v, **whole)
    np.testing.assert_allclose(found.values, want.values, rtol=1e-6, atol=1e-6)
    with pytest.raises(DataError, match="'bias' has arrays of 2 heads of float32 and of float32"):
        ops.scaled_dot_product_attention(q, k, v, bias=[whole["bias"][0], bias[1]])


def test_a_nan_is_kept():
    """Only what no key is seen by is zero: a result that cannot be computed is none."""
    q = rows([2, 2], 1, 8)
    q.values[:8] = np.nan
    result = ops.scaled_dot_product_attention(q, rows([3, 3], 1, 8), rows([3, 3], 1, 8))
    assert np.isnan(result[0][0]).all() and np.isfinite(result[0][1]).all()
    assert np.isfinite(result[1]).all()


@pytest.mark.parametrize(
    ("hidden", "heads", "causal", "bias"), [(48, 2, False, True), (24, 3, True, True), (17, 1, False, False)]
)
@FEW
@example(lengths=[], seed=0)
@example(lengths=[0, 0], seed=0)
@given(lengths=LENGTHS, seed=SEEDS)
def test_self_attention(hidden, heads, causal, bias, lengths, seed):
    layer = ops.MultiheadAttention(hidden, heads, causal=causal, bias=bias)
    state = weights(layer.shapes)
    layer.load_state_dict(state)
    x = rows(lengths, hidden, seed=seed)
    given = reference.padded(x)
    check(layer(x), reference.multihead(state, heads, given, given, given, causal), x)


@pytest.mark.parametrize(("kdim", "vdim"), [(24, 24), (17, 17), (8, 17)])
@FEW
@example(pairs=EMPTY, seed=0)
@given(pairs=PAIRS, seed=SEEDS)
def test_cross_attention(kdim, vdim, pairs, seed):
    hidden, heads = 24, 3
    layer = ops.MultiheadAttention(hidden, heads, kdim=kdim, vdim=vdim)
    state = weights(layer.shapes)
    layer.load_state_dict(state)
    n, m = ([pair[k] for pair in pairs] for k in (0, 1))
    x, key, value = rows(n, hidden, seed=seed), rows(m, kdim, seed=seed + 1), rows(m, vdim, seed=seed + 2)
    apart = [reference.padded(each) for each in (x, key, value)]
    check(layer(x, key, value), reference.multihead(state, heads, *apart, False), x)
    if kdim == vdim:
        together = reference.multihead(state, heads, apart[0], apart[1], apart[1], False)
        check(layer(x, key), together, x)


def test_workers_share_the_sequences_of_one_head():
    layer = ops.MultiheadAttention(8, 1, threads=2)
    layer.load_state_dict(weights(layer.shapes))
    text = layer.function.show("loops")
    assert "b_h_begin(w * shares // workers)" in text and "w * 1 // workers" not in text


@pytest.mark.parametrize("window", [3, (1,), (1, 2, 3), (1.5, 2), (-1, 0), (2**40, 0), "ab"])
def test_a_window_is_two_numbers_of_places(window):
    x = ragged.array([np.ones((2, 4), np.float32)])
    with pytest.raises(DataError) as refused:
        ops.scaled_dot_product_attention(x, x, x, window=window)
    lines = str(refused.value).splitlines()
    assert lines[0] == f"ragged.ops.scaled_dot_product_attention: window={window!r}"
    assert lines[-1] == "  fix: window=(places before, places after), with None for all of them"


@pytest.mark.parametrize("scale", ["1", True, 1j, np.array([0.5])])
def test_a_scale_is_one_number(scale):
    x = ragged.array([np.ones((2, 4), np.float32)])
    with pytest.raises(DataError, match="scaled_dot_product_attention: scale="):
        ops.scaled_dot_product_attention(x, x, x, scale=scale)


def test_no_heads_give_results_without_elements():
    x = rows([2, 0, 3], 0, 4)
    for options in ({}, {"causal": True, "alibi": np.ones(0, np.float32)}):
        y = ops.scaled_dot_product_attention(x, x, x, **options)
        assert y.shape == (3, None, 0, 4) and y.lengths.tolist() == [2, 0, 3]


def test_a_window_beyond_all_rows_takes_no_more_memory():
    x = rows([5, 3], 8)
    wide = ops.scaled_dot_product_attention(x, x, x, window=(10**8, 1))
    assert wide.equal(ops.scaled_dot_product_attention(x, x, x, window=(None, 1)))


def _pair(b: Value, h: Value, t: Value, u: Value) -> Value:
    """An element of a bias, of a program in which it is declared."""
    return BIAS[b, t, u]


OF = sequences()
KEYS = sequences("_keys", OF.batch, OF.size)
BIAS = ragged.input_tensor("bias", [*OF.dims, KEYS.dims[1]])
SCORINGS = {
    "plain": Scoring(),
    "causal": Scoring(after=0),
    "window": Scoring(before=20, after=30),
    "bias": Scoring(adjust=lambda score, b, h, t, u, bias: score + bias, beside=(_pair,)),
}


@pytest.mark.parametrize("name", SCORINGS)
def test_all_that_is_between_is_kept_for_one_tile_and_one_head(name: str):
    """A worker has keys and values of one head, and what is of a tile of queries: nothing is as large as the scores."""
    tensors = [
        ragged.input_tensor(each, [*of.dims, (ragged.dim("head"), 4), (ragged.dim("place"), 64)])
        for each, of in (("q", OF), ("k", KEYS), ("v", KEYS))
    ]
    reads = [lambda *at, tensor=tensor: tensor[at] for tensor in tensors]
    found = attention("Y", 4, 64, OF, KEYS, *reads, size=32, scoring=SCORINGS[name])
    s = ragged.Schedule(found.result)
    found.decide(s)
    found.arrange(s)
    text = ragged.compile(s, target="llvm -mcpu=x86-64-v4", threads=2).show("loops")
    held = re.findall(r"^(\w+): workspace\(float32\[([^,]+),", text, re.MULTILINE)
    assert {"Y_k", "Y_v", "Y_scores", "Y_weights"} <= {each for each, _ in held}
    assert {rows for _, rows in held} == {"workers"}
    if name == "bias":
        assert "Y_beside_acc = local(float32[16, 16], scope=register, order=(1, 0))" in text


def test_lists_of_no_arrays_are_of_no_sequences():
    """The heads of a bias of no sequences are known from nothing."""
    none = ragged.array(np.zeros((0, 2, 4), np.float32), lengths=[])
    for each in ({"bias": []}, {"mask": []}):
        assert ops.scaled_dot_product_attention(none, none, none, **each).size == 0
    some = ragged.array([np.zeros((3, 2, 4), np.float32)])
    with pytest.raises(DataError, match="'bias' has 2 dimensions"):
        ops.scaled_dot_product_attention(some, some, some, bias=[])
