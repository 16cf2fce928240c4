"""Rows of any length in vectors: whole ones, and narrower ones for what is left; and no bit changes."""

import re
from dataclasses import replace

import numpy as np
import pytest

from ragged import tc
from ragged.auto.default_schedule import DefaultSchedule
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.machine import this_machine
from tests.ragged.codegen.hand import check_both

ROWS = """\
program("rows")

count: input()
length: input(n < count) = facts(0 <= length(n) < 65)
x: payload(float32[count, 64])
y: output(float32[count, 64])

with kernel:
    for n in serial(count):
        for i in serial(64):
            y[n, i] = 0.0
        for j in serial(length(n)):
            y[n, j] = {value}
"""


def scheduled(value, machine=None):
    return DefaultSchedule(machine or this_machine())(parse(ROWS.format(value=value))).program


def widths(program):
    """How many lanes loops over a row's places have, in the order of the text."""
    return [int(lanes) for lanes in re.findall(r"for j\w* in vectorized\((\d+)", to_text(program))]


def test_vectors_of_one_element_are_none():
    machine = replace(this_machine(), vector_bytes=16)
    assert widths(scheduled("x[n, j] * x[n, j] + 1.0", machine)) == [4, 2]


def test_what_does_not_fill_a_vector_is_in_narrower_ones():
    program = scheduled("x[n, j] * x[n, j] + 1.0")
    lanes = this_machine().lanes(4)
    assert widths(program) == [lanes, lanes // 2, lanes // 4]
    lengths = np.arange(65, dtype=np.int32)
    x = np.random.default_rng(0).standard_normal((len(lengths), 64), np.float32)
    check_both(program, count=len(lengths), length=lengths, x=x)


@pytest.mark.parametrize(
    "text", ["y(i,k) = x(i + k) * w(k)", "y(i,k) = x(i + k) where k in 0:K", "y(i) +=! x(i + k) * w(k)"]
)
@pytest.mark.parametrize(("size", "taps"), [(40, 5), (200, 33), (7, 7)])
def test_rows_that_begin_one_later_each_time(text, size, taps):
    f = tc.define(f"def f(float(P) x, float(K) w) -> (y) {{ {text} }}").f
    draw = np.random.default_rng(0)
    x, w = (draw.standard_normal(each).astype(np.float32) for each in (size, taps))
    found = [f.compile(**options)(x, w) for options in ({}, {"threads": 1})]
    for each in found:
        np.testing.assert_array_equal(each, f.compile(schedule=None)(x, w))


def test_a_place_less_a_number_is_side_by_side():
    inside = "j - count + 2 >= 0 and j - count + 2 < 64"
    program = scheduled(f"x[n, j - count + 2] if {inside} else 0.0")
    assert widths(program) != []
    x = np.random.default_rng(1).standard_normal((5, 64), np.float32)
    check_both(program, count=5, length=np.array([64, 0, 7, 1, 20], np.int32), x=x)


@pytest.mark.parametrize("value", ["x[n, 63 - j]", "x[j % count, n % 64]", "y[n, max(j - 1, 0)] + x[n, j]"])
def test_what_is_left_to_llvm(value):
    program = scheduled(value)
    assert widths(program) == []
    x = np.random.default_rng(1).standard_normal((3, 64), np.float32)
    check_both(program, count=3, length=np.array([64, 0, 7], np.int32), x=x)
