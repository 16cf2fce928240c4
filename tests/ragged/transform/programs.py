"""Small programs in text that the primitives' tests start from, and data for them."""

from __future__ import annotations

import numpy as np

from tests.ragged.passes.programs import TREE, tree_data

__all__ = ["MATVEC", "TREE", "WAVES", "matvec", "matvec_data", "tree_data", "waves_data"]

_MATVEC = """\
program("matvec")

count: input()
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


WAVES = """\
program("waves")

rows: input()
a: parameter(float32[6, 5])
x: output(float32[7, 6])
y: output(float32[7, 6])
s: output(float32[1])

with kernel:
    for i in serial(7):
        for j in serial(6):
            x[i, j]: x.init = float32(i * 7 + j)
    s[0]: s.init = 0.0
    for i in serial(rows):
        for j in serial(5):
            x[i + 1, j] = x[i, j + 1] * 0.5 + a[i, j]
    for k in serial(rows):
        for j in serial(5):
            y[k, j] = x[k + 1, j + 1] + x[0, 0]
    for i in serial(rows):
        for j in serial(5):
            s[0] += a[i, j]
    for i in serial(rows):
        for j in serial(5):
            x[i, j]: x.last = y[i, j] * s[0]
"""
"""Loops of iterations that depend on each other across rows and columns, one after another."""


def waves_data(rows: int, seed: int) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """Return sizes and arrays for `WAVES`; there are at most 6 rows."""
    a = np.random.default_rng(seed).standard_normal((6, 5)).astype(np.float32)
    return {"rows": rows}, {"a": a}
