"""Products of few rows read their operand in order: which calls, the bits, and what keeps its panels."""

import numpy as np
import pytest

from ragged import tc
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.tile_few_rows import FEW_ROWS
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.machine import Machine, this_machine

AVX512 = Machine(64, 32, 2, 48 << 10, 2 << 20)
LIB = tc.define("""
def product(float(M,K) a, float(K,N) b) -> (c) { c(m,n) +=! a(m,k) * b(k,n) }
def vector(float(K) a, float(K,N) b) -> (c) { c(n) +=! a(k) * b(k,n) }
def batch(double(P,M,K) a, double(P,K,N) b) -> (c) { c(p,m,n) +=! a(p,m,k) * b(p,k,n) }
def layer(float(M,K) a, float(K,N) b, float(N) d) -> (e) { c(m,n) +=! a(m,k) * b(k,n)  e(m,n) = fmax(c(m,n) + d(n), 0) }
def square(float(N,N) a) -> (c) { c(m,n) +=! a(m,k) * a(k,n) }
def least(int32(M,K) a, int32(K,N) b) -> (c) { c(m,n) min=! a(m,k) * b(k,n) }
def turned(float(M,K) a, float(N,K) b) -> (c) { c(m,n) +=! a(m,k) * b(n,k) }
def three(float(M,K) a, float(K,N) b, float(N,P) d, float(P,L) e) -> (h) {
  c(m,n) +=! a(m,k) * b(k,n)  g(m,p) +=! c(m,n) * d(n,p)  h(m,l) +=! g(m,p) * e(p,l)
}
""")
SIZES = [
    dict(M=1, K=7, N=16, P=2, L=3),
    dict(M=3, K=66, N=527, P=3, L=140),
    dict(M=4, K=4, N=130, P=1, L=16),
    dict(M=5, K=9, N=300, P=2, L=1),
    dict(M=0, K=5, N=3, P=2, L=4),
    dict(M=2, K=0, N=20, P=1, L=5),
]


def arguments(function, sizes):
    draw = np.random.default_rng(0)
    found = []
    for dtype, dims in function.parameters.values():
        numbers = draw.standard_normal([sizes[name] for name in dims]) * 8
        found.append(numbers.astype(dtype))
    return found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", LIB.functions)
def test_products_have_the_bits_of_their_loops_as_written(name, threads):
    function = getattr(LIB, name)
    own, plain = function.compile(threads=threads), function.compile(schedule=None)
    for sizes in SIZES:
        if name != "least" or sizes["K"]:
            given = arguments(function, sizes)
            np.testing.assert_array_equal(own(*given), plain(*given))


@pytest.mark.parametrize("rows", [1, FEW_ROWS, FEW_ROWS + 1])
@pytest.mark.parametrize("name", ["product", "vector"])
def test_rows_of_known_number_are_few_or_not(name, rows):
    """Where the second cache holds the operand, tiles of registers read it where it stands."""
    side = 16 * (int((this_machine().l2_bytes / 4) ** 0.5) // 16 + 1)
    for columns, is_large in ((side, True), (144, False)):
        sizes = dict(M=rows, K=columns, N=columns)
        function = getattr(LIB, name)
        known = {each: sizes[each] for each in function.sizes}
        own = function.compile(sizes=known, threads=1)
        few = is_large and (name == "vector" or rows <= FEW_ROWS)
        assert ("512]" in own.show("loops")) == few
        given = arguments(function, sizes)
        np.testing.assert_array_equal(own(*given), function.compile(schedule=None)(*given))


def test_calls_choose_by_their_rows():
    loops = LIB.product.compile(threads=1).show("loops")
    assert f"if M <= {FEW_ROWS}:" in loops
    few, rest = loops.split("else:", 1)
    assert "local(float32[4, 512]" in few and "B_packed" not in few and "b_packed[" in rest
    assert "if M" not in LIB.turned.compile(threads=1).show("loops")  # columns are not side by side
    assert "if M" not in LIB.three.compile(threads=1).show(
        "loops"
    )  # three products take too long to compile twice


def test_the_plan_tells_what_a_call_reads():
    plan = LIB.product.compile(threads=1)._ready().function.plan
    assert "rows of the operand in order: tiles of rows 1 x 3;" in str(plan(M=3, K=64, N=2000))
    assert "bytes packed" in str(plan(M=5, K=64, N=2000))


NARROW = """\
program("narrow")

M: call()
x: payload(float32[M, 9])
v: payload(float32[9, {N}])
y: output(float32[M, {N}])

with kernel:
    for i in parallel(M):
        for j in parallel({N}):
            y[i, j] = 0.0
            for k in serial(9):
                y[i, j] += x[i, k] * v[k, j]
"""


@pytest.mark.parametrize(("columns", "few"), [(96, False), (250, True)])
def test_the_interpreter_agrees(columns, few):
    program = parse(NARROW.format(N=columns))
    draw = np.random.default_rng(1)
    for threads in (1, 3):
        done = DefaultSchedule(AVX512, threads=threads)(program).program
        assert ("if M <= 4:" in to_text(done)) == few
        for rows in (0, 1, 3, 4, 6):
            arrays = {"x": draw.standard_normal((rows, 9), np.float32)}
            arrays["v"] = draw.standard_normal((9, columns), np.float32)
            want = interpret(program, {"M": rows}, arrays)["y"]
            workers = {} if threads == 1 else {"workers": 2}
            got = interpret(done, {"M": rows, **workers}, arrays)["y"]
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
