"""Rows that are stored as columns are read as they stand, and transposed in registers: where; and no bit changes."""

import re

import numpy as np
import pytest

from ragged import tc
from ragged.auto.default_schedule import DefaultSchedule
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.machine import this_machine
from tests.ragged.codegen.hand import check_both

TURNED = """\
program("turned")

count: input()
x: payload(float32[count, {width}])
y: output(float32[{width}, {columns}])

with kernel:
    for d in serial({width}):
        for w in serial({columns}):
            y[d, w] = {value}
"""
ROW = "x[min(w, count - 1), d]"


def scheduled(value=f"{ROW} * 0.125", width=70, columns=32):
    program = parse(TURNED.format(value=value, width=width, columns=columns))
    return DefaultSchedule(this_machine())(program)


def transposes(text):
    """Whether a square is held, its columns stored as rows."""
    return (
        re.search(r"y_acc = local\(float32\[(\d+), \1\], scope=register, order=\(1, 0\)\)", text) is not None
    )


@pytest.mark.parametrize("count", [1, 7, 40])
@pytest.mark.parametrize("columns", [32, 20, 37])
@pytest.mark.parametrize("width", [16, 64, 70])
def test_what_is_scheduled_computes_the_same(width, columns, count):
    done = scheduled(width=width, columns=columns).program
    assert transposes(to_text(done))
    x = np.random.default_rng(0).standard_normal((count, width), np.float32)
    got = check_both(done, count=count, x=x)["y"]
    rows = x[np.minimum(np.arange(columns), count - 1)] * np.float32(0.125)
    np.testing.assert_array_equal(got, rows.T)


@pytest.mark.parametrize(
    ("value", "width", "columns"),
    [
        (ROW, 4, 32),  # no row fills a vector
        (ROW, 64, 3),  # no column does
        ("x[0, d] * 2.0", 64, 32),  # nothing is turned: all columns are the same
        ("x[min(d, count - 1), w]", 64, 64),  # it is read as it is stored
        (f"{ROW} + x[min(d, count - 1), w]", 64, 64),  # some of it is
    ],
)
def test_what_is_left_as_it_is(value, width, columns):
    done = scheduled(value, width, columns).program
    assert not transposes(to_text(done))
    check_both(done, count=3, x=np.random.default_rng(1).standard_normal((3, width), np.float32))


ANY_SIZES = """\
program("turned")

workers: call()
A: call()
B: call()
x: payload(float32[A, B])
y: output(float32[B, A])

with kernel:
    for w in serial(workers):
        first = w * B // workers
        for b_s in serial((w + 1) * B // workers - first):
            b = first + b_s
            for a in serial(A):
                y[b, a] = 2.0 * x[a, b] + 1.0
"""


def test_sizes_of_a_call_and_shares_of_workers_have_squares_in_strips():
    done = DefaultSchedule(this_machine())(parse(ANY_SIZES)).program
    assert transposes(to_text(done)) and "for a_o_o in serial(" in to_text(done)
    for rows, columns, workers in ((0, 5, 1), (15, 40, 2), (16, 16, 1), (70, 33, 3), (17, 1000, 2)):
        x = np.random.default_rng(0).standard_normal((columns, rows), np.float32)
        got = check_both(done, A=columns, B=rows, workers=workers, x=x)["y"]
        np.testing.assert_array_equal(got, np.float32(2) * x.T + np.float32(1))


def test_a_transpose_has_squares_for_any_number_of_threads():
    transpose = tc.define("def t(float(A,B) x) -> (y) { y(b,a) = x(a,b) }").t
    x = np.random.default_rng(0).standard_normal((50, 70), np.float32)
    for threads in (1, 2):
        compiled = transpose.compile(threads=threads)
        assert transposes(compiled.show("loops"))
        np.testing.assert_array_equal(compiled(x), x.T)


@pytest.mark.parametrize("width", [3, 7, 12, 14, 30])
def test_rows_that_are_left_over_have_lower_tiles(width):
    done, lanes = scheduled(width=width).program, this_machine().lanes(4)
    tiles = re.findall(
        rf"y_acc = local\(float32\[(\d+), {lanes}\], scope=register, order=\(1, 0\)\)", to_text(done)
    )
    rest, expected = width, set()
    for side in (16, 8, 4):
        if side <= lanes and rest >= side:
            expected.add(side)
            rest %= side
    assert {int(rows) for rows in tiles} == expected
    x = np.random.default_rng(0).standard_normal((40, width), np.float32)
    got = check_both(done, count=40, x=x)["y"]
    np.testing.assert_array_equal(got, (x[:32] * np.float32(0.125)).T)
