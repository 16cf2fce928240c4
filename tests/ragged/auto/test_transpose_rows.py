"""Rows that are stored as columns are read as they stand, and transposed in registers: where; and no bit changes."""

import re

import numpy as np
import pytest

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
