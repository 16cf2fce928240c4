"""Products of pairs for a matrix unit: which are, what stands around them, and that no value changes."""

import numpy as np
import pytest

from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.options import ScheduleOptions
from ragged.auto.pair_products_bf16 import PairProductsBf16
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.machine import Machine

UNIT = Machine(64, 32, 2, 32 * 1024, 1024 * 1024, matrix_unit=True)
CELL = """\
program("cell")

count: input()
W: parameter(float32[{columns}, {length}])
b: parameter(float32[{columns}])
x: payload(float32[count, {length}])
a: workspace(float32[count, {columns}])
y: output(float32[count, {columns}])

with kernel:
    for n in parallel(count):
        for i in serial({columns}):
            a[n, i] = 0.0
            for j in serial({length}):
                a[n, i] += W[i, j] * x[n, j]
        for i in serial({columns}):
            y[n, i] = tanh(a[n, i] + b[i])
"""
TWO_WAYS = """\
program("two_ways")

count: input()
W: parameter(float32[16, 32, 32])
x: payload(float32[count, 32])
y: output(float32[count, 16, 32])
z: output(float32[count, 32, 16])

with kernel:
    for n in parallel(count):
        for g in serial(16):
            for i in serial(32):
                y[n, g, i] = 0.0
                for j in serial(32):
                    y[n, g, i] += W[g, i, j] * x[n, j]
        for i in serial(32):
            for g in serial(16):
                z[n, i, g] = 0.0
                for j in serial(32):
                    z[n, i, g] += W[g, i, j] * x[n, j]
"""


def scheduled(text, threads=1, machine=UNIT, options=None):
    rounded = PairProductsBf16()(parse(text)).program
    new = DefaultSchedule(machine, threads, options or ScheduleOptions())(rounded).program
    verify(new)
    return rounded, new


def check(old, new, count, workers=None):
    rng = np.random.default_rng(count)
    arrays = {
        buffer.name: rng.standard_normal(
            [count if not hasattr(extent, "value") else int(extent.value) for extent in buffer.shape],
            np.float32,
        )
        for buffer in old.buffers
        if buffer.role.value in ("parameter", "payload")
    }
    want = interpret(old, {"count": count}, arrays)
    got = interpret(new, {"count": count}, arrays, **({} if workers is None else {"workers": workers}))
    for buffer in old.buffers:
        if buffer.role.value == "output":
            np.testing.assert_array_equal(got[buffer.name], want[buffer.name])


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_come_in_blocks_of_sixteen_the_last_one_short(threads):
    old, new = scheduled(CELL.format(columns=64, length=32), threads)
    text = to_text(new)
    assert text.count("tensorized(") == 3 and "unrolled" not in text
    assert ", 16)" in next(line for line in text.splitlines() if "tensorized(min(" in line)
    check(old, new, 17, None if threads == 1 else 2)


@pytest.mark.parametrize(("columns", "length", "tiles"), [(48, 32, 3), (128, 32, 4)])
def test_columns_are_as_many_tiles_as_divide_them(columns, length, tiles):
    old, new = scheduled(CELL.format(columns=columns, length=length))
    assert f"tensorized({16 * tiles})" in to_text(new)
    check(old, new, 2)


@pytest.mark.parametrize(("columns", "length"), [(24, 32), (32, 40), (32, 33)])
def test_what_sixteens_do_not_divide_stays_in_vectors(columns, length):
    old, new = scheduled(CELL.format(columns=columns, length=length))
    assert "tensorized(" not in to_text(new)
    check(old, new, 3)


def test_who_has_no_unit_or_wants_none_has_vectors():
    text = CELL.format(columns=64, length=32)
    without = Machine(64, 32, 2, 32 * 1024, 1024 * 1024)
    for machine, options in ((without, ScheduleOptions()), (UNIT, ScheduleOptions(tensorize=False))):
        assert "tensorized(" not in to_text(scheduled(text, machine=machine, options=options)[1])


def test_large_temporaries_make_smaller_blocks():
    """An iteration has 64 sums and 16 pairs."""
    text = CELL.format(columns=64, length=32)
    _, new = scheduled(text, options=ScheduleOptions(max_stack_bytes=5 * 4 * 64))
    assert "for n_i_rest in tensorized(min(count - n_o * 4, 4))" in to_text(new)


def test_a_table_that_is_read_in_two_ways_is_not_packed():
    old, new = scheduled(TWO_WAYS)
    check(old, new, 2)
