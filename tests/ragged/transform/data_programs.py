"""Small programs in text for the primitives that move data, and data for them."""

from __future__ import annotations

import numpy as np

from ragged.ir.expr import Const, Role
from ragged.ir.parser import parse
from tests.ragged.transform.programs import matvec

PRODUCT = matvec(hidden=6, out=20).replace("v: workspace", "v: payload").replace("tanh", "abs")
"""`y[n] = |U v[n] + b|`; what it computes has the same bits interpreted and compiled."""

GATES = """\
program("gates")

count: input()
W: parameter(float32[20, 6])
U: parameter(float32[20, 6])
v: payload(float32[count, 6])
y: output(float32[count, 20])

with kernel:
    for n in serial(count):
        s = local(float32[20])
        t = local(float32[20])
        for i in serial(20):
            s[i]: s.init = 0.0
            for j in serial(6):
                s[i] += W[i, j] * v[n, j]
        for i in serial(20):
            t[i]: t.init = 0.0
            for j in serial(6):
                t[i] += U[i, j] * v[n, j]
        for i in serial(20):
            y[n, i] = s[i] * t[i]
"""


def data(
    text: str, counts: tuple[int, ...] = (0, 1, 2, 5)
) -> list[tuple[dict[str, int], dict[str, np.ndarray]]]:
    """Return sizes and arrays for a program in text: each size is a count, each array of random numbers."""
    program = parse(text)
    result = []
    for count in counts:
        random = np.random.default_rng(count)
        arrays = {}
        for buffer in program.buffers:
            if buffer.role in (Role.PARAMETER, Role.PAYLOAD):
                shape = [int(e.value) if isinstance(e, Const) else count for e in buffer.shape]
                arrays[buffer.name] = random.standard_normal(shape).astype(buffer.dtype.numpy)
        result.append(({function.name: count for function in program.sizes()}, arrays))
    return result
