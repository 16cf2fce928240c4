"""The default schedule for a grid: blocks for loops of any extent. Models on grids: tests/compiler/test_grid.py."""

import numpy as np
import pytest

from ragged.auto.grid_schedule import GridSchedule
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.machine import Grid, Machine

COLUMNS = """\
program("columns")

n: call()
x: payload(float32[n, 4])
y: output(float32[n, 4])

with kernel:
    for i in parallel({extent}):
        for m in parallel(n):
            y[m, i]: y.part = x[m, i]
    for i in parallel(4):
        for m in parallel(n):
            y[m, i] = x[m, i] * 2.0
"""
MACHINE = Machine(64, 32, 2, 32 * 1024, 1024 * 1024)


@pytest.mark.parametrize("extent", [0, 1, 3])
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_loops_of_any_extent_are_shared_out(extent, blocks):
    program = GridSchedule(Grid(blocks, 2, 4096), MACHINE)(parse(COLUMNS.format(extent=extent))).program
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(interpret(program, {"n": 3}, {"x": x})["y"], 2 * x)


def test_a_kernel_without_columns_is_one_block():
    text = COLUMNS.format(extent=0).replace("parallel(4)", "parallel(0)")
    assert "team(1)" in str(GridSchedule(Grid(3, 2, 4096), MACHINE)(parse(text)).program)
