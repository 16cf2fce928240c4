"""Small programs in text that the primitives' tests start from, and data for them."""

from __future__ import annotations

import numpy as np

from tests.ragged.passes.programs import TREE, tree_data

__all__ = ["MATVEC", "TREE", "matvec", "matvec_data", "tree_data"]

_MATVEC = """\
program("matvec")

count: structure()
U: parameter(float32[{out}, {hidden}])
b: parameter(float32[{out}])
v: workspace(float32[count, {hidden}])
t: workspace(float32[count, {out}])
y: output(float32[count, {out}])

with kernel:
    for n in serial(count, N):
        for i in serial({out}):
            t[n, i]: t.init = 0.0
            for j in serial({hidden}):
                t[n, i] += U[i, j] * v[n, j]
        for i in serial({out}):
            y[n, i] = tanh(t[n, i] + b[i])
"""


def matvec(hidden: int, out: int) -> str:
    """Return a batch program in text: for nodes 0 .. count - 1, `t[n] = U v[n]` and `y[n] = tanh(t[n] + b)`."""
    return _MATVEC.format(hidden=hidden, out=out)


MATVEC = matvec(hidden=6, out=8)


def matvec_data(
    count: int, seed: int, hidden: int = 6, out: int = 8
) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """Return sizes and arrays for `matvec(hidden, out)`; the workspace `v` is among the arrays."""
    random = np.random.default_rng(seed)
    shapes = {"U": (out, hidden), "b": (out,), "v": (count, hidden)}
    arrays = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return {"count": count}, arrays
