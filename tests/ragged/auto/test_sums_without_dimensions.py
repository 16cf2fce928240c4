"""Sums into buffers of no dimensions: a product of two vectors at a node, in contracted storage."""

import numpy as np
import pytest

from ragged.auto.default_schedule import DefaultSchedule
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.verify import verify
from ragged.machine import Machine

SMALL = Machine(vector_bytes=16, vector_registers=16, cores=2, l1_bytes=32 * 1024, l2_bytes=256 * 1024)
TEXT = """\
program("scalars")

count: input()
w: parameter(float32[12])
x: payload(float32[count, 12])
s: workspace(float32[count])
y: output(float32[count, 12])

with kernel:
    for n in parallel(count):
        s[n] = 0.0
        for j in serial(12):
            s[n] += w[j] * x[n, j]
        for i in serial(12):
            y[n, i] = x[n, i] * s[n]
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_they_are_scheduled(count, threads):
    program = parse(TEXT)
    scheduled = DefaultSchedule(SMALL, threads)(program).program
    verify(scheduled)
    random = np.random.default_rng(count)
    arrays = {"w": random.standard_normal(12), "x": random.standard_normal((count, 12))}
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    sizes = {"count": count}
    want = interpret(program, sizes, arrays)["y"]
    np.testing.assert_array_equal(interpret(scheduled, sizes, arrays, workers=2)["y"], want)
