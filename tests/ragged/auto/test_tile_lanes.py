"""Products in vectors along contiguous elements: they have the bits of the sum in its order, at any size."""

import subprocess
import sys

import numpy as np
import pytest

from ragged import tc
from ragged.auto.default_schedule import DefaultSchedule
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.machine import Machine

AVX512 = Machine(64, 32, 2, 48 << 10, 2 << 20)
AVX2 = Machine(32, 16, 2, 32 << 10, 1 << 20)

DOT = """\
program("dot")

N: call()
A: call()
B: call()
K: call()
H: call()
x: payload(float32[N, A, K, H])
w: payload(float32[N, K, B, H])
y: output(float32[N, A, B, H])

with kernel:
    for n in parallel(N):
        for a in parallel(A):
            for b in parallel(B):
                for h in parallel(H):
                    y[n, a, b, h] = 0.0
                    for k in serial(K):
                        y[n, a, b, h] += x[n, a, k, h] * w[n, k, b, h]
"""
GROUPS = """\
program("groups")

N: call()
x: payload(float32[N, 2, {width} + 2])
w: payload(float32[{filters}, 2, 3])
y: output(float32[N, {filters}, {width}])

with kernel:
    for n in parallel(N):
        for f in parallel({filters}):
            for h in parallel({width}):
                y[n, f, h] = 0.0
                for c in serial(2):
                    for k in serial(3):
                        y[n, f, h] += x[n, c, h + k] * w[f, c, k]
"""
LIBRARY = tc.define("""
def dot(float(N,A,K,H) x, float(N,K,B,H) w) -> (y) { y(n,a,b,h) +=! x(n,a,k,h) * w(n,k,b,h) }
def groups(float(N,G,C,H,W) x, float(G,F,C,3,3) w, float(G,F) bias) -> (y) {
  y(n,g,f,h,v) +=! x(n,g,c,h + p,v + q) * w(g,f,c,p,q)
  y(n,g,f,h,v) = y(n,g,f,h,v) + bias(g,f)
}
def scaled(float(N,W) x, float(F) w) -> (y) { y(n,f,v) +=! x(n,v + k) * w(f) where k in 0:3, v in 0:W - 2 }
""")


def array(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("machine", [AVX512, AVX2])
def test_the_interpreter_agrees_where_both_operands_move(machine):
    program = parse(DOT)
    done = DefaultSchedule(machine, threads=2)(program).program
    text = to_text(done)
    assert "y_acc" in text and "_packed" not in text
    for n, a, b, k, h in (
        (2, 7, 5, 3, 17),
        (1, 1, 4, 2, 16),
        (1, 13, 1, 0, 3),
        (0, 2, 2, 2, 2),
        (1, 2, 3, 2, 40),
        (1, 5, 1, 1, 1040),
    ):
        sizes = {"N": n, "A": a, "B": b, "K": k, "H": h}
        given = {"x": array(n, a, k, h), "w": array(n, k, b, h)}
        want = interpret(program, sizes, given)["y"]
        got = interpret(done, {**sizes, "workers": 2}, given)["y"]
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("filters", "width"), [(4, 54), (3, 5), (5, 70), (1, 16), (7, 26)])
def test_the_interpreter_agrees_where_filters_are_the_same_for_all_lanes(filters, width):
    program = parse(GROUPS.format(filters=filters, width=width))
    done = DefaultSchedule(AVX512)(program).program
    fills = (width / (-(-width // 16) * 16)) > filters / 16
    assert ("_packed" not in to_text(done)) == fills
    given = {"x": array(2, 2, width + 2), "w": array(filters, 2, 3)}
    want, got = (interpret(each, {"N": 2}, given)["y"] for each in (program, done))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_worker_reads_a_page_of_each_row():
    lines = [
        line.strip() for line in to_text(DefaultSchedule(AVX512, threads=2)(parse(DOT)).program).splitlines()
    ]
    (block,) = (line for line in lines if line.startswith("for h_o_i in "))
    assert block == "for h_o_i in serial(min((H + 15) // 16 - h_o_o * 64, 64)):"
    before = lines[: lines.index(block)]
    assert any(line.startswith("a_o = ") for line in before)  # of those that the workers share
    assert not any("y_acc" in line for line in before)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("width", [21, 2100])
def test_dot_products_of_tensors(threads, fixed, width):
    sizes = {"N": 2, "A": 9, "K": 3, "B": 6, "H": width}
    function = LIBRARY.dot.compile(threads=threads, sizes=sizes if fixed else {})
    x, w = array(2, 9, 3, width), array(2, 3, 6, width)
    want = np.einsum("nakh,nkbh->nabh", x.astype(np.float64), w)
    np.testing.assert_allclose(function(x, w), want, atol=1e-5)
    assert function(x, w).tobytes() == LIBRARY.dot.compile(schedule=None)(x, w).tobytes()


@pytest.mark.parametrize(("filters", "width"), [(4, 56), (4, 7), (2, 18), (6, 100)])
def test_grouped_convolutions(filters, width):
    sizes = {"N": 2, "G": 3, "C": 2, "F": filters, "H": 5, "W": width}
    x, w, bias = array(2, 3, 2, 5, width), array(3, filters, 2, 3, 3), array(3, filters)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), (3, 4))
    want = np.einsum("ngchvpq,gfcpq->ngfhv", windows, w) + bias[:, :, None, None]
    for threads in (1, 2):
        function = LIBRARY.groups.compile(sizes=sizes, threads=threads)
        assert "tile_lanes: " in function.explain()
        got = function(x, w, bias)
        np.testing.assert_allclose(got, want, atol=2e-5)
        assert got.tobytes() == LIBRARY.groups(x, w, bias).tobytes()


GUARDED = """
import ctypes
import mmap

import numpy as np

from ragged import tc

pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
assert not ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + mmap.PAGESIZE), mmap.PAGESIZE, 0)
count = 2 * 3 * 7
image = np.frombuffer(pages, np.float32, count, mmap.PAGESIZE - 4 * count).reshape(2, 3, 7)
image[:] = 1
text = "def rows(float(C,H,W) x, float(F,C,3,3) w) -> (y) { y(f,h,v) +=! x(c,h + p,v + q) * w(f,c,p,q) }"
rows = tc.define(text).rows.compile(sizes={"C": 2, "F": 3, "H": 3, "W": 7}, threads=1)
assert "cache_write" in rows.explain().partition("\\ntile_panels")[0]
print(rows(image, np.ones((3, 2, 3, 3), np.float32)).tolist())
"""


def test_nothing_is_read_behind_an_array():
    """An image ends where its memory does: a page that nothing may read follows."""
    done = subprocess.run([sys.executable, "-c", GUARDED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([[[18.0] * 5]] * 3)
