"""Concatenations and the like: a loop for each array, with the same results."""

import numpy as np
import pytest

import ragged
from ragged import tc
from ragged.auto.default_schedule import DefaultSchedule
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from tests.ragged.auto.test_tile_panels import AVX2

JOINED = """\
program("joined")

N: call()
D: call()
E: call()
x: payload(float32[N, D + E + 2])
z: payload(float32[N, D + E + 2])
y: output(float32[N, D + E])

with kernel:
    for n in parallel(N):
        for d in parallel(D + E):
            y[n, d] = {value}
"""
CONDITIONS = [
    "d < D", "d <= D", "d > D", "d >= D", "D < d", "D <= d", "D > d", "D >= d", "D - d < 0", "D - d >= 1",
    "d + 1 <= D + n",
]  # fmt: skip


def joined(value):
    return parse(JOINED.format(value=value))


def check(program, threads):
    done = DefaultSchedule(AVX2, threads=threads)(program).program
    random = np.random.default_rng(0)
    for n, d, e in ((2, 9, 12), (3, 0, 9), (1, 17, 0), (5, 3, 2), (0, 4, 4)):
        sizes = {"N": n, "D": d, "E": e}
        given = {name: random.standard_normal((n, d + e + 2), np.float32) for name in "xz"}
        want = interpret(program, sizes, given)["y"]
        got = interpret(done, sizes | ({"workers": threads} if threads > 1 else {}), given)["y"]
        assert got.tobytes() == want.tobytes()
    return to_text(done)


def chosen(text):
    """Return the stores with a choice, but those of rows that are shorter than a vector."""
    return [line for line in text.splitlines() if "y[" in line and " if " in line and "lt8" not in line]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_each_array_has_a_loop(condition, threads):
    text = check(joined(f"x[n, d] + 1.0 if {condition} else 2.0 * z[n, d + 1]"), threads)
    assert "d_rest" in text and not chosen(text)


@pytest.mark.parametrize(
    "condition", ["d < 0", "d >= 0", "d < D + E + 1", "d <= D + E - 1", "d < -1", "d < 1"]
)
def test_a_choice_that_ends_where_the_loop_does(condition):
    check(joined(f"x[n, d] if {condition} else z[n, d]"), 1)
    check(joined(f"x[n, d] if d < D else (x[n, d + 1] if {condition} else z[n, d])"), 2)


def test_short_rows_stay_in_one_loop():
    value = "x[n, d] if d < D else z[n, d]"
    assert "if D + E < 8:" in check(joined(value), 1)
    for extent, cut in ((7, False), (8, True)):
        text = (
            JOINED.format(value=value)
            .replace("D: call()\nE: call()\n", "D: call()\n")
            .replace("D + E", str(extent))
        )
        assert ("d_rest" in to_text(DefaultSchedule(AVX2)(parse(text)).program)) is cut


def test_rows_of_any_length():
    b, t, rows = ragged.dim("b"), ragged.dim("t"), ragged.size("B")
    n = ragged.length_fn("n", over=b)
    dims = [(b, rows), (t, n(b))]
    x, z = (ragged.input_tensor(name, dims) for name in "xz")
    given = [np.arange(count, dtype=np.float32) for count in (0, 1, 40, 9)]
    for fewer in (0, 2):

        def element(i, j, fewer=fewer):
            return ragged.where(j < n(i) - fewer, x[i, j], 2.0 * z[i, j])

        found = ragged.compile(ragged.compute("y", dims, element))(x=given, z=[row + 1 for row in given])
        for row, own in zip(given, found, strict=True):
            np.testing.assert_array_equal(
                own, np.where(np.arange(row.size) < row.size - fewer, row, 2 * row + 2)
            )


def test_three_arrays():
    value = "x[n, d] if d < D else z[n, d] if d < D + 3 else x[n, d + 1] * z[n, d + 2]"
    text = check(joined(value), 1)
    assert "d_rest_rest" in text and not chosen(text)


@pytest.mark.parametrize(
    "value",
    [
        "x[n, d] if d < D else 0.0",
        "x[n, d] if d < D else 2.0 * x[n, d]",
        "x[n, d] if x[n, 0] > 0.0 else z[n, d]",
        "x[n, d] if d == D else z[n, d]",
        "x[n, d] if 2 * d < D else z[n, d]",
        "x[n, d] if n < D else z[n, d]",
        "x[n, d] if d < D and n < 2 else z[n, d]",
    ],
)
def test_other_choices_stay(value):
    assert "d_rest" not in check(joined(value), 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_concatenations_by_a_comprehension(threads):
    f = tc.define(
        "def f(float(D) x, float(E) z) -> (y) { y(d) = d < D ? x(d) : z(d - D) where d in 0:D + E }"
    ).f.compile(threads=threads)
    for count, more in ((100, 37), (0, 40), (40, 0), (3, 1)):
        x, z = (np.random.default_rng(1).standard_normal(size, np.float32) for size in (count, more))
        np.testing.assert_array_equal(f(x, z), np.concatenate([x, z]))
