"""Counting work: as many operations as the loops do, whatever their extents depend on."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.compiled.work import work_program
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.runtime.call import Caller

DECLARED = """
program("p")
rows: call()
n: input(i < rows)
x: payload(float32[rows, 64])
y: output(float32[rows, 64])
with kernel:
"""
ROWS = np.array([3, 0, 5, 64], np.int32)
LOOPS = {
    "a box": (
        "for i in serial(rows):\n    for j in serial(7):\n        y[i, j] = 2.0 * x[i, j] + 1.0",
        4 * 7 * 2,
    ),
    "rows": ("for i in serial(rows):\n    for j in serial(n(i)):\n        y[i, j] = exp(x[i, j])", 72),
    "squares": (
        "for i in serial(rows):\n    for j in serial(n(i)):\n        y[i, j] = 0.0\n"
        "        for k in serial(n(i)):\n            y[i, j] += x[i, j] * x[i, k]",
        2 * (9 + 25 + 64 * 64),
    ),
    "triangles": (
        "for h in serial(8):\n    for i in serial(rows):\n        for j in serial(n(i)):\n"
        "            for k in serial(j + 1):\n                y[i, j] = -x[i, k]",
        8 * (6 + 15 + 64 * 65 // 2),
    ),
    "lets and conditions": (
        "for i in serial(rows):\n    m = n(i) // 2\n    if i > 0:\n        for j in serial(m):\n"
        "            y[i, j] = -x[i, j]\n    else:\n        for j in serial(m - 2):\n            y[i, j] = -x[i, j]",
        (1 + 0 + 2 + 32) + (0 + 0 + 0 + 30),
    ),
    "nothing": ("pass", 0),
}


def program(body: str):
    return parse(DECLARED + "".join(f"    {line}\n" for line in body.splitlines()))


@pytest.mark.parametrize("case", LOOPS)
def test_flops(case):
    body, want = LOOPS[case]
    counted = work_program(program(body))
    verify(counted)
    assert to_text(parse(to_text(counted))) == to_text(counted)
    caller = Caller(list(compile_program(counted).entries.values()), {})
    for rows in (ROWS, ROWS[:0]):
        lengths = {"rows": len(rows), "n": rows}
        (work,) = caller({each.name: lengths[each.name] for each in caller.wanted}).values()
        assert work[0] == (want if len(rows) else 0)
        assert (work[1] > work[0]) == (work[0] > 0)


def test_it_takes_as_long_as_there_are_rows():
    """No loop over elements is left where extents depend on rows alone."""
    text = to_text(work_program(program(LOOPS["squares"][0])))
    assert "for i in serial(rows)" in text and text.count("for ") == 2, text
