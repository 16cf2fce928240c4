"""A program over rows of different lengths, in text, and data for it."""

from __future__ import annotations

import numpy as np

ROWS = """\
program("rows")

rows: input()
n: input(b < rows) = facts(0 <= n(b) < 33)
a: payload(float32[rows, 32])
s: output(float32[rows])
y: output(float32[rows, 32])

with kernel:
    for b in parallel(rows):
        s[b]: s.init = 0.0
        for k in serial(n(b)):
            s[b] += a[b, k]
        for t in serial(32):
            if t < n(b):
                y[b, t] = abs(a[b, t])
            else:
                y[b, t]: y.pad = 0.0
"""


def rows_data(lengths: list[int]) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """Return sizes and arrays for `ROWS`, of rows of these lengths."""
    random = np.random.default_rng(len(lengths))
    a = random.standard_normal((len(lengths), 32)).astype(np.float32)
    return {"rows": len(lengths)}, {"n": np.array(lengths, np.int32), "a": a}


ROWS_DATA = [rows_data(lengths) for lengths in ([], [0], [1], [8, 7, 9, 0], [32, 31, 16, 17, 15, 0, 2])]
