"""Iterations computed together: the text, the bits, and what is left alone."""

import numpy as np
import pytest

from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.machine import Machine
from ragged.auto.tile_batches import tile_batches
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.verify import verify
from ragged.schedule.schedule import Schedule

SMALL = Machine(vector_bytes=16, vector_registers=16, cores=1, l1_bytes=32 * 1024, l2_bytes=256 * 1024)

CELL = """\
program("cell")

count: structure()
U: parameter(float32[{hidden}, {hidden}])
v: payload(float32[count, {hidden}])
y: output(float32[count, {hidden}])

with kernel:
    for n in serial(count, N):
        node = count - 1 - n
        x = local(float32[{hidden}])
        t = local(float32[{hidden}])
        for i in serial({hidden}):
            x[i] = tanh(v[node, i])
        for i in serial({hidden}):
            t[i] = 0.0
            for j in serial({hidden}):
                t[i] += U[i, j] * x[j]
        for i in serial({hidden}):
            y[node, i] = tanh(t[i])
"""


def data(count, hidden):
    random = np.random.default_rng(count)
    shapes = {"U": (hidden, hidden), "v": (count, hidden)}
    arrays = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return {"count": count}, arrays


def together(text):
    schedule = Schedule(parse(text))
    tile_batches(schedule)
    verify(schedule.program)
    return schedule


def test_text(golden):
    schedule = together(CELL.format(hidden=8))
    golden("cell_together.txt", f"{schedule.program}\n{schedule.log()}\n")


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 7, 8, 9])
def test_no_bit_changes(count):
    text = CELL.format(hidden=6)
    sizes, arrays = data(count, 6)
    want = interpret(parse(text), sizes, arrays)["y"]
    np.testing.assert_array_equal(interpret(together(text).program, sizes, arrays)["y"], want)
    whole = DefaultSchedule(SMALL)(parse(text)).program
    verify(whole)
    np.testing.assert_array_equal(interpret(whole, sizes, arrays)["y"], want)


def test_iterations_that_depend_on_each_other_stay_apart():
    text = CELL.format(hidden=6).replace(
        "tanh(v[node, i])", "y[node + 1, i] if node + 1 < count else v[node, i]"
    )
    assert together(text).log() == ""


def test_temporaries_that_are_too_large_stay_apart():
    assert together(CELL.format(hidden=4096)).log() == ""


def test_loops_of_known_extent_are_left_to_tiles():
    text = CELL.format(hidden=6).replace("serial(count, N)", "serial(3, N)").replace("count - 1 - n", "2 - n")
    assert together(text).log() == ""
