"""What the functions of examples/tc compute, written with NumPy or with a library that has its names.

Each formula takes such a library and the arguments in order, and returns a result or a tuple of them. With NumPy and
float64 they are what answers are compared with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def windows(x: Any, size: tuple[int, int], stride: int = 1) -> Any:
    """Return the windows (..., h, w, *size) of images (..., H, W)."""
    found = np.lib.stride_tricks.sliding_window_view(x, size, (-2, -1))
    return found[..., ::stride, ::stride, :, :]


def _kronecker(xp: Any, w0: Any, w1: Any, w2: Any, x: Any) -> Any:
    y2 = x @ w2.T
    y1 = xp.matmul(w1, y2)
    m, n0, d1, d2 = y1.shape
    return xp.matmul(w0, y1.reshape(m, n0, d1 * d2)).reshape(m, -1, d1, d2)


def _group_convolution(xp: Any, x: Any, k: Any, b: Any) -> Any:
    found = np.einsum("ngchwpq,gfcpq->ngfhw", windows(x, k.shape[-2:]), k)
    return found + b[:, :, None, None]


def _masked_convolution(xp: Any, x: Any, k: Any) -> Any:
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.einsum("nchwpq,fcpq->nfhw", windows(wide, (3, 3)), k, optimize=True)


def _strided_convolution(xp: Any, x: Any, k: Any) -> Any:
    return np.einsum("nchwpq,fcpq->nfhw", windows(x, k.shape[-2:], 2), k, optimize=True)


def _mlp1(xp: Any, x: Any, w: Any, b: Any) -> Any:
    return xp.maximum(x @ w.T + b, 0)


def _mlp3(xp: Any, x: Any, w2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any) -> Any:
    o2 = _mlp1(xp, x, w2, b2)
    o3 = _mlp1(xp, o2, w3, b3)
    return o2, o3, _mlp1(xp, o3, w4, b4)


def _wavenet(
    xp: Any, d: int, x: Any, wf: Any, bf: Any, wg: Any, bg: Any, wr: Any, br: Any, ws: Any, bs: Any
) -> Any:
    late = xp.concatenate([xp.zeros_like(x[..., :d]), x[..., : x.shape[-1] - d]], -1)
    f, g = (w[..., 1] @ x + w[..., 0] @ late + b[:, None] for w, b in ((wf, bf), (wg, bg)))
    z = xp.tanh(f) / (1 + xp.exp(-g))
    return x + wr @ z + br[:, None], ws @ z + bs[:, None]


def _moments(xp: Any, x: Any) -> Any:
    return x.mean(1), x.var(1)


def _normalized(x: Any, axes: tuple[int, ...], gamma: Any, beta: Any) -> Any:
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / (var + 1e-5) ** 0.5 * gamma + beta


def _softmax(xp: Any, x: Any) -> Any:
    powers = xp.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def _distances(xp: Any, a: Any, b: Any) -> Any:
    difference = a[:, None] - b[None]
    return (difference * difference).sum(2)


FORMULAS: dict[str, Callable[..., Any]] = {
    "tmm": lambda xp, a, b: a @ b.T,
    "tbmm": lambda xp, x, y: x @ y.transpose(0, 2, 1),
    "tensordot": lambda xp, x, y: xp.einsum("nachw,ncbhw->nabhw", x, y),
    "kronecker1": lambda xp, w, x: x @ w.T,
    "kronecker2": lambda xp, w, x: xp.matmul(w, x),
    "kronecker3": lambda xp, w, x: xp.einsum("mijk,di->mdjk", x, w),
    "kronecker": _kronecker,
    "group_convolution": _group_convolution,
    "strided_convolution": _strided_convolution,
    "masked_convolution": _masked_convolution,
    "max_pooling": lambda xp, x: windows(x, (2, 2), 2).max((-2, -1)),
    "lookup": lambda xp, t, i: t[i].sum(1),
    "two_lookups": lambda xp, t, i, u, j: (t[i].sum(1), u[j].sum(1)),
    "mlp1": _mlp1,
    "c3": lambda xp, x, w: x @ w.T,
    "mlp3": _mlp3,
    "wavenet_block": _wavenet,
    "moments": _moments,
    "layer_norm": lambda xp, x, g, b: _normalized(x, (1,), g, b),
    "group_norm": lambda xp, x, g, b: _normalized(x, (2, 3, 4), g[..., None, None], b[..., None, None]),
    "softmax": _softmax,
    "distances": _distances,
    "additive_scores": lambda xp, x, y, v: xp.tanh(x[:, :, None] + y[:, None]) @ v,
}
WINDOWS = frozenset({"group_convolution", "strided_convolution", "masked_convolution", "max_pooling"})
"""Formulas over NumPy's windows: they say what is computed, and are no way to compute it fast."""
