"""Layers over a node's children: their results side by side, softmax over them, attention among them."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from cortex.ra import functions as _f
from cortex.ra.base import K, N
from cortex.ra.declare import compute
from cortex.ra.expr import Expr
from cortex.ra.functions import isleaf, max_children, sum_, sum_children, where
from cortex.ra.layers import side_by_side
from cortex.ra.shapes import assigned_name, described
from cortex.ra.tensor import Compute, Indexed, Placeholder
from ragged.errors import Location, ModelError


def concat_children(x: Indexed, count: int, name: str | None = None) -> Compute:
    """Return x at the first `count` children, side by side: (ra.N, count * F), as `torch.cat` of them.

    At leaves it is zero. Inner nodes have `count` children at least. If x is a placeholder with a default, that is read
    where a child is missing, at leaves too.

    Args:
        x: (ra.N, F): a placeholder, a payload, or in what follows the recursion any compute.
        count: how many children, from the first.
        name: the tensor's name in listings; guessed from the assignment otherwise.

    Raises:
        ModelError: x has another shape.
    """
    at = Location.capture()
    if len(x.shape) != 2 or x.shape[0] is not N or not isinstance(x.shape[1], int) or count < 1:
        raise ModelError(
            f"concat_children: x has shape {described(x.shape)}, count={count}",
            at=at,
            fix="a tensor (ra.N, F), and count=2 for binary trees",
        )
    extent = x.shape[1]

    def at_child(child: Any, j: Any) -> Expr:
        return x[child, j]

    def element(n: Any, i: Any) -> Expr:
        value = side_by_side([(extent, partial(at_child, n.child(p))) for p in range(count)], i)
        default = isinstance(x, Placeholder) and x.default is not None
        return value if default else where(isleaf(n), 0.0, value)

    return compute((N, count * extent), element, name or assigned_name(at, "concat_children") or "children")


def softmax_children(x: Indexed, name: str | None = None) -> Compute:
    """Return the softmax over each node's children of x (ra.N, ra.K): exp(x - m) / sum(exp(x - m)).

    Example:
        >>> a = softmax_children(ra.compute((N, K), lambda n, k: query[n] + key[n, k]))
    """
    at = Location.capture()
    if x.shape != (N, K):
        raise ModelError(
            f"softmax_children: x has shape {described(x.shape)}",
            at=at,
            because="it is computed over the children of each node",
            fix="x = ra.compute((ra.N, ra.K), lambda n, k: ...)",
        )
    label = name or assigned_name(at, "softmax_children") or "softmax"
    top = compute((N,), lambda n: max_children(n, lambda k: x[n, k]), f"{label}_max")
    e = compute((N, K), lambda n, k: _f.exp(x[n, k] - top[n]), f"{label}_exp")
    total = compute((N,), lambda n: sum_children(n, lambda k: e[n, k]), f"{label}_sum")
    return compute((N, K), lambda n, k: e[n, k] / total[n], label)


def attention_children(q: Indexed, k: Indexed, v: Indexed, name: str | None = None) -> Compute:
    """Return, for each child of each node, the attention of its query to all children: (ra.N, ra.K, F).

    It is softmax_s(q_k . k_s / sqrt(E)) v_s, `torch.nn.functional.scaled_dot_product_attention` among siblings.

    Args:
        q: queries (ra.N, ra.K, E).
        k: keys (ra.N, ra.K, E).
        v: values (ra.N, ra.K, F).
        name: the tensor's name in listings; guessed from the assignment otherwise.

    Raises:
        ModelError: the shapes do not agree.
    """
    at = Location.capture()
    shapes = [described(x.shape) for x in (q, k, v)]
    extents = [x.shape[2] for x in (q, k, v) if x.shape[:2] == (N, K) and len(x.shape) == 3]
    if len(extents) != 3 or extents[0] != extents[1]:
        raise ModelError(
            f"attention_children: q, k and v have shapes {', '.join(shapes)}",
            at=at,
            because="there is one of each for each child, and products are over the features of q and k",
            fix="q, k, v = (ra.linear(h_ph, name, out=64) for name in ('q', 'k', 'v'))",
        )
    features = int(str(extents[0]))
    label = name or assigned_name(at, "attention_children") or "attention"

    def score(n: Any, c: Any, s: Any) -> Expr:
        return sum_(features, lambda j: q[n, c, j] * k[n, s, j]) / math.sqrt(features)

    def e(n: Any, c: Any, s: Any) -> Expr:
        value: Expr = _f.exp(score(n, c, s) - top[n, c])
        return value

    top = compute((N, K), lambda n, c: max_children(n, lambda s: score(n, c, s)), f"{label}_max")
    total = compute((N, K), lambda n, c: sum_children(n, lambda s: e(n, c, s)), f"{label}_sum")
    shape = (N, K, int(str(extents[2])))
    return compute(
        shape, lambda n, c, i: sum_children(n, lambda s: e(n, c, s) / total[n, c] * v[n, s, i]), label
    )
