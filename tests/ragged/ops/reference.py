"""The operators on padded arrays, in float64 NumPy: a mask says where there is something."""

from __future__ import annotations

from collections.abc import Mapping
from math import erf
from typing import Any

import numpy as np

from ragged import RaggedArray

Array = np.ndarray[Any, Any]
State = Mapping[str, Array]


def padded(x: RaggedArray) -> Array:
    """Return a ragged array in float64, NaN where nothing is: what is read there spoils the result."""
    return x.to_padded(np.nan).astype(np.float64)


def linear(x: Array, weight: Array, bias: Array | None, activation: str | None = None) -> Array:
    y = np.einsum("bni,oi->bno", x, weight.astype(np.float64)) + (0 if bias is None else bias)
    match activation:
        case "relu":
            return np.where(y > 0, y, 0.0 * y)
        case "gelu":
            return gelu(y)
        case _:
            return y


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.vectorize(erf, otypes=[float])(x / np.sqrt(2)))


def layer_norm(x: Array, weight: Array | None, bias: Array | None, eps: float = 1e-5) -> Array:
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)
    return y * (1 if weight is None else weight) + (0 if bias is None else bias)


def softmax(x: Array, axis: int) -> Array:
    """Return the softmax of what is no NaN; NaN where there is nothing."""
    most = np.fmax.reduce(x, axis, keepdims=True, initial=-np.inf)
    weights = np.exp(x - np.where(np.isfinite(most), most, 0.0))
    return weights / np.nansum(weights, axis, keepdims=True)


def attention(
    q: Array, k: Array, v: Array, causal: bool, scale: float | None = None, bias: Array | None = None
) -> Array:
    """Return (B, N, H, D) of queries (B, N, H, D), keys and values (B, M, H, D), and a bias (B, H, N, M)."""
    scores = np.einsum("bnhd,bmhd->bhnm", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if bias is None else scores + bias
    masked = np.isnan(k[:, :, 0, 0])[:, None, None, :]
    if causal:
        masked = masked | ~np.tri(scores.shape[2], scores.shape[3], dtype=bool)
    scores = np.where(masked, -np.inf, scores)
    most = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isneginf(most), 0.0, most))
    total = weights.sum(-1, keepdims=True)
    weights = weights / np.where(total == 0, 1.0, total)
    return np.einsum("bhnm,bmhd->bnhd", weights, np.nan_to_num(v))


def distances(n: int, m: int) -> Array:
    """Return how far each of m keys is behind each of n queries' places: (n, m), negative before them."""
    return np.arange(m)[None, :] - np.arange(n)[:, None]


def rotated(x: Array, angles: Array) -> Array:
    """Return rows (B, N, H, D) with features d and d + D / 2 of place t rotated by `angles` (places, D / 2)."""
    one, other = np.split(x, 2, axis=-1)
    cos, sin = (table(angles[: x.shape[1], None]) for table in (np.cos, np.sin))
    return np.concatenate([one * cos - other * sin, other * cos + one * sin], axis=-1)


def multihead(state: State, heads: int, q: Array, k: Array, v: Array, causal: bool) -> Array:
    """Return torch.nn.MultiheadAttention of a state, batch first."""
    hidden = len(state["out_proj.weight"])
    whole = state.get("in_proj_weight")
    weights = [state[f"{name}_proj_weight"] for name in "qkv"] if whole is None else list(np.split(whole, 3))
    biases = list(np.split(state["in_proj_bias"], 3)) if "in_proj_bias" in state else [None] * 3
    rows = [linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases, strict=True)]
    apart = [x.reshape(*x.shape[:2], heads, hidden // heads) for x in rows]
    mixed = attention(*apart, causal).reshape(rows[0].shape)
    return linear(mixed, state["out_proj.weight"], state.get("out_proj.bias"))


def encoder_layer(
    state: State, heads: int, x: Array, *, activation: str, norm_first: bool, eps: float, causal: bool
) -> Array:
    """Return torch.nn.TransformerEncoderLayer of a state, batch first."""
    own = {name.partition(".")[2]: array for name, array in state.items() if name.startswith("self_attn.")}

    def attend(rows: Array) -> Array:
        return multihead(own, heads, rows, rows, rows, causal)

    def norm(name: str, rows: Array) -> Array:
        return layer_norm(rows, state[f"{name}.weight"], state.get(f"{name}.bias"), eps)

    def forward(rows: Array) -> Array:
        wide = linear(rows, state["linear1.weight"], state.get("linear1.bias"), activation)
        return linear(wide, state["linear2.weight"], state.get("linear2.bias"))

    if norm_first:
        x = x + attend(norm("norm1", x))
        return x + forward(norm("norm2", x))
    x = norm("norm1", x + attend(x))
    return norm("norm2", x + forward(x))
