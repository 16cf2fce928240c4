"""Short runs far apart are prefetched: which operands, how far ahead; and no bit changes."""

import re

import numpy as np
import pytest

from ragged import tc
from ragged.auto.prefetch_ahead import prefetch_ahead
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.machine import Machine, this_machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.prefetch import LINE_BYTES

MACHINE = Machine(64, 32, 2, 48 << 10, 1 << 20)

TILED = """\
program("tiled")

rows: input()
x: payload(float32[{shape}])
k: parameter(float32[8, 3])
y: output(float32[rows, 26, 32])

with kernel:
    for n in serial(rows):
        for h in serial(26):
            acc = local(float32[32], scope=register)
            for w in vectorized(32):
                acc[w]: start = 0.0
            for c in serial(8):
                for p in serial(3):
                    for v in vectorized(32):
                        acc[v] += x[{read}] * k[c, p]
            for z in vectorized(32):
                y[n, h, z] = acc[z]
"""
READ = "n, c, h + p, v"


def scheduled(read=READ, shape="rows, 8, 28, 40"):
    schedule = LoopSchedule(parse(TILED.format(read=read, shape=shape)))
    prefetch_ahead(schedule, MACHINE)
    return to_text(schedule.program)


def distance(text):
    return int(re.search(r"h_ahead = h \+ (\d+)", text)[1])


def test_rows_of_an_image_are_asked_for_after_those_of_its_window():
    text = scheduled()
    assert "prefetch(x[n_ahead, c, h_ahead % 26, v_line * 16]" in text
    assert distance(text) == MACHINE.l1_bytes // 8 // (8 * 2 * LINE_BYTES) + 1 + 2


def test_distances_follow_the_first_cache():
    small = LoopSchedule(parse(TILED.format(read=READ, shape="rows, 8, 28, 40")))
    prefetch_ahead(small, Machine(64, 32, 2, 16 << 10, 1 << 20))
    assert distance(to_text(small.program)) == (16 << 10) // 8 // (8 * 2 * LINE_BYTES) + 1 + 2


@pytest.mark.parametrize(
    ("read", "shape"),
    [
        ("n, h, c, v", "rows, 28, 8, 40"),  # rows one after another
        ("n, h + p, v, c", "rows, 28, 32, 8"),  # along what is summed up
        ("c, p, h, v", "8, 3, 26, 32"),  # all of it stays in the second cache
        ("0, c, p, v", "rows, 8, 28, 40"),  # the same for all rows
        ("n, c, v, h + p", "rows, 8, 32, 28"),  # no two elements of the vector are side by side
    ],
)
def test_others_are_left(read, shape):
    assert "prefetch" not in scheduled(read, shape)


BLOCKED = """\
program("blocked")

rows: input()
x: payload(float32[rows, 64, 8, 400])
y: output(float32[rows, 64, 32])

with kernel:
    for n in serial(rows):
        for h in serial(16):
            acc = local(float32[4, 32], scope=register)
            for i in unrolled(4):
                for w in vectorized(32):
                    acc[i, w]: start = 0.0
            for c in serial(8):
                for j in unrolled(4):
                    for v in vectorized(32):
                        acc[j, v] += x[n, h * 4 + j, c, v]
            for l in unrolled(4):
                for z in vectorized(32):
                    y[n, h * 4 + l, z] = acc[l, z]
"""


def test_each_row_of_a_tile_is_asked_for():
    schedule = LoopSchedule(parse(BLOCKED))
    prefetch_ahead(schedule, MACHINE)
    text = to_text(schedule.program)
    assert "for j_line in unrolled(4):" in text
    assert "prefetch(x[n_ahead, h_ahead % 16 * 4 + j_line, c, v_line * 16]" in text
    assert distance(text) == MACHINE.l1_bytes // 8 // (8 * 4 * 2 * LINE_BYTES) + 1


CONVOLUTION = """
def f(float(N,G,C,H,W) I, float(G,F,C,3,3) K, float(G,F) B) -> (O) {
  O(n,g,f,h,w) +=! I(n,g,c,h + p,w + q) * K(g,f,c,p,q)
  O(n,g,f,h,w)  = O(n,g,f,h,w) + B(g,f)
}
"""


def images_beyond_cache(elements):
    """Return how many images of so many elements the second cache of this machine does not hold."""
    return this_machine().l2_bytes // (4 * elements) + 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize(("channels", "side"), [(8, 28), (16, 14), (4, 56)])
def test_a_convolution_has_the_bits_of_its_loops_as_written(channels, side, fixed, threads):
    g = 8
    n = max(12, images_beyond_cache(g * channels * side * side))
    draw = np.random.default_rng(0)
    image = draw.standard_normal((n, g, channels, side, side), np.float32)
    taps = draw.standard_normal((g, channels, channels, 3, 3), np.float32)
    bias = draw.standard_normal((g, channels), np.float32)
    sizes = dict(N=n, G=g, C=channels, F=channels, H=side, W=side)
    f = tc.define(CONVOLUTION).f
    got = f.compile(sizes=sizes if fixed else None, threads=threads)
    assert "prefetch(I[" in got.show("loops")
    plain = f.compile(schedule=None)
    np.testing.assert_array_equal(got(image, taps, bias), plain(image, taps, bias))


CHOSEN = """
def f(int32(D) A, float(N,E,H,W) I, float(F,C,3,3) K, float(N,C,H,W) J) -> (O) {
  O(n,f,h,w) +=! (c < D ? I(n,A(c),h + p,w + q) : J(n,c - D,h + p,w + q)) * K(f,c,p,q) where c in 0:C
}
"""


@pytest.mark.parametrize("fixed", [True, False])
def test_what_a_condition_leaves_out_is_not_asked_for(fixed):
    """Nor is the index of it looked up: there are `D` of these."""
    n = max(6, images_beyond_cache(40 * 30 * 30))
    sizes = dict(D=3, N=n, E=40, H=30, W=30, F=16, C=64)
    draw = np.random.default_rng(0)
    arrays = (
        draw.integers(0, 40, 3).astype(np.int32),
        draw.standard_normal((n, 40, 30, 30), np.float32),
        draw.standard_normal((16, 64, 3, 3), np.float32),
        draw.standard_normal((n, 64, 30, 30), np.float32),
    )
    f = tc.define(CHOSEN).f
    got = f.compile(sizes=sizes if fixed else None, threads=1)
    text = got.show("loops")
    asked = re.findall(r"if (not )?c\w* < (?:D|3):\n +prefetch\(([IJ])\[", text)
    assert len(asked) == text.count("prefetch(") > 0
    assert all(bool(negated) == (name == "J") for negated, name in asked)
    np.testing.assert_array_equal(got(*arrays), f.compile(schedule=None)(*arrays))
