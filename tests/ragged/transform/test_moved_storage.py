"""Local buffers with extents that depend on a loop follow the loop where a primitive moves what stands in it."""

import numpy as np
import pytest

from ragged.ir.parser import parse
from ragged.transform.loops.fission import fission
from ragged.transform.loops.split import Tail, split
from tests.ragged.transform.support import accepted, body, check_same, label, loop

PREFIXES = """\
program("prefixes")

x: parameter(float32[12])
y: output(float32[2, 12])

with kernel:
    for n in serial(2):
        for i in serial(12):
            y[n, 11 - i]: y.start = 0.0
            t = local(float32[i + 1])
            u = local(float32[1, i + 1], aliases=t)
            t[i] = x[i]
            y[n, i] = u[0, i]
"""
DATA = [({}, {"x": np.arange(12, dtype=np.float32)})]


@pytest.mark.parametrize(("width", "tail"), [(5, Tail.GUARD), (4, Tail.PEEL)])
def test_split(width, tail):
    program = parse(PREFIXES)
    extent = f"i_o * {width} + i_i + 1"
    new = accepted(split, program, loop(program, "i"), width, tail).program
    assert f"t = local(float32[{extent}])" in body(new)
    assert f"u = local(float32[1, {extent}], aliases=t)" in body(new)
    check_same(program, new, DATA)


def test_fission():
    program = parse(PREFIXES.replace("y[n, 11 - i]: y.start = 0.0", "y[n, i]: y.start = 0.0"))
    new = accepted(fission, program, loop(program, "i"), label(program, "y.start")).program
    assert "t = local(float32[i_rest + 1])" in body(new)
    check_same(program, new, DATA)
