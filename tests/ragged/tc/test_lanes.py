"""Sums over contiguous data: in lanes and by columns, in an order that follows from the length alone."""

import re
from pathlib import Path

import numpy as np
import pytest

from ragged import tc
from ragged.ir.dtype import DType
from ragged.tc.lower import lower

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "tc"
LIB = tc.define("""
def rows(float(N,K) x, float(N) start) -> (total, top, least, square) {
  total(n) = start(n)
  total(n) += x(n,k)
  top(n) max=! x(n,k)
  least(n) min=! x(n,k)
  square(n) +=! (x(n,k) - start(n)) * (x(n,k) - start(n))
}
def whole32(float(N,K) x) -> (total) { total(n) +=! x(n,k) }
def columns32(float(N,K) x) -> (y) { y(k) +=! x(n,k) }
def whole(int32(N,K) x) -> (total) { total(n) +=! x(n,k) }
def planes(float(N,D,K) x) -> (total) { total(n) +=! x(n,d,k) }
def columns(float(N,K) x, float(N,K) y) -> (total) { total(k) +=! x(n,k) * y(n,k) }
def inner(float(N,K) x) -> (total) { total(n) +=! x(n,k) where k in 1:K - 1 }
def by_vector(float(N,K) x, float(K) v) -> (y) { y(n) +=! x(n,k) * v(k) }
def vector_by(float(N,K) x, float(N) v) -> (y) { y(k) +=! v(n) * x(n,k) }
def scaled(float(N,D,K) x, float(D) v, float(N) u) -> (y, z) {
  y(n) +=! v(d) * x(n,d,k)
  z(d) +=! u(n) * x(n,d,k)
}
def depthwise(float(C,K) x, float(C,P) v) -> (y) { y(c,k) +=! x(c,k+p) * v(c,p) }
def taps(float(N,C,K) x, float(N,C,K-4) g) -> (y) { y(c,p) +=! x(n,c,k+p) * g(n,c,k) where p in 0:5 }
def wide(float(N,C,K) x, float(N,C,K-15) g) -> (y) { y(c,p) +=! x(n,c,k+p) * g(n,c,k) where p in 0:16 }
def product(float(N,K) x, float(K,M) y) -> (z) { z(n,m) +=! x(n,k) * y(k,m) }
""")
LENGTHS = (0, 1, 3, 4, 5, 31, 33, 63, 64, 65, 100, 127, 130)


def data(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("length", LENGTHS)
def test_rows_of_any_length(length):
    x, start = data(3, length), data(3)
    exact, wide = x.astype(np.float64), start.astype(np.float64)[:, None]
    found = LIB.rows(x, start)
    np.testing.assert_allclose(found["total"], wide[:, 0] + exact.sum(1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["square"], ((exact - wide) ** 2).sum(1), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found["top"], x.max(1, initial=-np.inf))
    np.testing.assert_array_equal(found["least"], x.min(1, initial=np.inf))
    numbers = (1000 * x).astype(np.int32)
    np.testing.assert_array_equal(LIB.whole(numbers), numbers.sum(1))
    planes = data(2, 3, length)
    np.testing.assert_allclose(LIB.planes(planes), planes.sum((1, 2), dtype=np.float64), rtol=1e-5, atol=1e-5)
    other = data(3, length)[:, ::-1].copy()
    np.testing.assert_allclose(LIB.columns(x, other), (exact * other).sum(0), rtol=1e-5, atol=1e-5)
    if length > 2:
        np.testing.assert_allclose(LIB.inner(x), exact[:, 1:-1].sum(1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", LENGTHS)
def test_factors_that_several_elements_share(length):
    """As those of a product of a matrix and a vector: what is read once for each term says the vectors."""
    x, v, u = data(3, length), data(length), data(3)
    for sizes in (None, {"N": 3, "K": length}):
        by = LIB.by_vector.compile(sizes=sizes, threads=2)(x, v)
        np.testing.assert_allclose(by, x.astype(float) @ v, rtol=1e-5, atol=1e-5)
        of = LIB.vector_by.compile(sizes=sizes, threads=2)(x, u)
        np.testing.assert_allclose(of, u.astype(float) @ x, rtol=1e-5, atol=1e-5)
    planes = data(3, 2, length).astype(float)
    found = LIB.scaled(planes.astype(np.float32), u[:2], u)
    np.testing.assert_allclose(found["y"], np.einsum("ndk,d->n", planes, u[:2]), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["z"], np.einsum("ndk,n->d", planes, u), rtol=1e-5, atol=1e-5)
    if length > 2:
        taps = data(3, 3).astype(float)
        wanted = sum(x[:, p : length - 2 + p] * taps[:, p : p + 1] for p in range(3))
        for sizes in (None, {"C": 3, "K": length, "P": 3}):
            own = LIB.depthwise.compile(sizes=sizes)(x, taps.astype(np.float32))
            np.testing.assert_allclose(own, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", LENGTHS)
def test_rows_that_are_converted_or_chosen(length):
    """Sums of 16-bit floats are float32 until they are stored; some rows of a tensor keep what it had before."""
    x = data(3, length)
    for name in ("float16", "bfloat16"):
        half = x.astype(DType(name).numpy)
        function = tc.define(f"def f({name}(N,K) x) -> (y) {{ y(n) +=! x(n,k) }}").f
        assert "vectorized" in function.show("loops")
        np.testing.assert_array_equal(function(half), LIB.whole32(half.astype(np.float32)).astype(half.dtype))
    some = tc.define(
        "def f(float(N,K) x) -> (y) { y(n) = 7.0 where n in 0:N  y(n) +=! x(n,k) where n in 1:N }"
    ).f
    np.testing.assert_array_equal(some(x)[1:], LIB.whole32(x)[1:])
    assert some(x)[0] == 7 and "vectorized" in some.show("loops")
    columns = tc.define("def f(float16(N,K) x) -> (y) { y(k) +=! x(n,k) }").f
    half = x.astype(np.float16)
    np.testing.assert_array_equal(columns(half), LIB.columns32(half.astype(np.float32)).astype(np.float16))


def test_the_order_is_that_of_the_length():
    x = data(5, 137)
    whole = LIB.planes(x[:, None])
    for function in (LIB.planes.compile(sizes={"K": 137, "D": 1}), LIB.planes.compile(threads=1)):
        assert function(x[:, None]).tobytes() == whole.tobytes()
    assert LIB.planes(x[3:4, None]).tobytes() == whole[3:4].tobytes()
    lanes = x[0, :128].reshape(2, 64).copy()
    sums = np.zeros(64, np.float32)
    for row in lanes:
        sums += row
    a, b, c, d = sums.reshape(4, 16)
    sixteens = (a + c) + (b + d)  # what is left fills no 16
    a, b, c, d = sixteens.reshape(4, 4)
    fours = (a + c) + (b + d)
    for row in x[0, 128:136].reshape(2, 4):
        fours += row
    assert whole[0] == ((fours[0] + fours[2]) + (fours[1] + fours[3])) + x[0, 136]


@pytest.mark.parametrize(
    ("function", "loop"),
    [
        (LIB.planes, "lane"),
        (LIB.columns, "k_i"),
        (LIB.columns.compile(sizes={"K": 128}), "k_i"),  # no rest, that blocks of the rest would divide again
        (LIB.by_vector, "lane"),
        (LIB.vector_by, "k_i"),
        (LIB.depthwise, "k_i"),
        (LIB.taps, "lane"),
        (LIB.wide, "p"),
    ],
    ids=["rows", "columns", "whole blocks", "by vector", "vector by", "depthwise", "taps", "wide"],
)
def test_sums_are_vectors(function, loop):
    """The loop inside those over terms is of lanes, or of columns."""
    lines = function.show("loops").splitlines()
    vector = re.compile(rf"for {loop}\w*_rest_i in vectorized\(")
    place = next(n for n, line in enumerate(lines) if vector.search(line))
    assert "+=" in lines[place + 1] or "fma(" in lines[place + 1]


@pytest.mark.parametrize("length", [5, 9, 36, 150])
def test_each_place_of_a_filter_sums_rows_that_begin_there(length):
    x, g = data(3, 2, length), data(3, 2, length - 4)
    found = LIB.taps(x, g)
    wanted = [(x[:, :, p : p + length - 4].astype(np.float64) * g).sum((0, 2)) for p in range(5)]
    np.testing.assert_allclose(found, np.stack(wanted, 1), rtol=1e-4, atol=1e-4)
    assert LIB.taps.compile(threads=2)(x, g).tobytes() == found.tobytes()


@pytest.mark.parametrize("rest", ["y(k) = s(k) * 2", "y(k) = fmax(s(k), 0) + 1", "y(k) +=! s(k) + x(n,k)"])
def test_columns_that_another_statement_reads_in_its_loop(rest):
    """What is computed in another tensor's loops has no loops of its own to divide."""
    function = tc.define(f"def f(float(N,K) x, float(N) v) -> (y) {{ s(k) +=! x(n,k) * v(n) {rest} }}").f
    x, v = data(5, 70), data(5)
    s = v.astype(float) @ x
    wanted = {"=": 2 * s, "f": np.maximum(s, 0) + 1, "+": 5 * s + x.sum(0)}[rest[7 if "fmax" in rest else 5]]
    np.testing.assert_allclose(function(x, v), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "int32"])
@pytest.mark.parametrize("operator", ["+=!", "max=!"])
def test_columns_of_other_types_are_summed_side_by_side(dtype, operator):
    function = tc.define(f"def f({dtype}(N,K) x) -> (y) {{ y(k) {operator} x(n,k) }}").f
    x = np.random.default_rng(0).integers(-9, 9, (31, 70)).astype(DType(dtype).numpy)
    loops = function.show("loops")
    assert re.search(r"for k\w*_i\w* in vectorized\(", loops), loops
    wanted = x.astype(np.int64).sum(0) if operator == "+=!" else x.astype(np.int64).max(0)
    np.testing.assert_array_equal(function(x).astype(np.int64), wanted.astype(DType(dtype).numpy))


@pytest.mark.parametrize("dtype", [DType.INT32, DType.UINT8, DType.INT64])
def test_columns_of_a_sum_that_another_statement_reads(dtype):
    """They stay loops of their own, where others would be computed element by element in the loops of the reader."""
    f = tc.define(f"""
def f({dtype.value}(N,F,H,W) I, {dtype.value}(F,KH,KW) K, {dtype.value}(F) B) -> (O) {{
  O(n,f,h,w) +=! I(n,f,h + p,w + q) * K(f,p,q)
  O(n,f,h,w)  = O(n,f,h,w) + B(f)
}}""").f
    draw = np.random.default_rng(0)
    image, taps, bias = (
        draw.integers(0, 9, shape).astype(dtype.numpy) for shape in ((2, 3, 9, 22), (3, 2, 3), (3,))
    )
    windows = np.lib.stride_tricks.sliding_window_view(image, (2, 3), (2, 3))
    want = (np.einsum("nfhwpq,fpq->nfhw", windows, taps) + bias[:, None, None]).astype(dtype.numpy)
    np.testing.assert_array_equal(f(image, taps, bias), want)
    np.testing.assert_array_equal(f.compile(schedule=None)(image, taps, bias), want)


def test_a_product_of_matrices_is_neither():
    lowered = lower(LIB.product._analysed, {})
    assert (lowered.attached, lowered.columns) == ((), ())


def test_which_examples_are_reduced_so():
    found = {}
    for path in sorted(EXAMPLES.glob("*.tc")):
        lib = tc.define(path.read_text(encoding="utf-8"))
        for name in lib.functions:
            lowered = lower(lib[name]._analysed, {})
            found[name] = (
                [*dict.fromkeys(rows.name for _, rows in lowered.attached)],
                [each.name for each in lowered.columns],
            )
    assert {name: each for name, each in found.items() if each != ([], [])} == {
        "moments": (["mean", "var"], []),
        "layer_norm": (["mean", "var"], []),
        "group_norm": (["mean", "var"], []),
        "softmax": (["top", "total"], []),
        "lookup": ([], ["O"]),
        "two_lookups": ([], ["O1", "O2"]),
        # sums of products go on in registers
        "group_convolution": (["O_2"], []),
        "mlp1": (["O1_2"], []),
        "mlp3": (["O4_2", "O3_2", "O2_2"], []),
    }


@pytest.mark.parametrize("length", [1, 3, 31, 32, 33, 64, 65, 200])
def test_split_reductions_are_of_parts(length):
    lib = tc.define("""
    def total(float(N) x) -> (s) { s +=! x(i) }
    def least(float(N,K) x, float start) -> (m) { m = start  m min= x(i,j) }
    def squares(float(N,K) x) -> (q) { q(k) +=! x(n,k) * x(n,k) }
    def inner(float(N) x, float(M,N) y) -> (d) { d(m) +=! (x(n) - y(m,n)) * x(n) }
    """)
    x, y = data(length), data(5, length)
    total = [lib.total.compile(threads=n, split_reductions={"s": 32})(x).tobytes() for n in (1, 2)]
    parts = [LIB.whole32(x[begin : begin + 32][None])[0] for begin in range(0, length, 32)]
    wanted = np.float32(0)
    for each in parts:
        wanted += each
    assert total == [wanted.tobytes()] * 2
    least = lib.least.compile(split_reductions={"m": 2})
    assert least(y, -1.0) == min(-1, y.min())
    squares = lib.squares.compile(split_reductions={"q": 2})
    np.testing.assert_allclose(squares(y), (y.astype(np.float64) ** 2).sum(0), rtol=1e-5)
    inner = lib.inner.compile(split_reductions={"d": 50})
    exact = ((x - y).astype(np.float64) * x).sum(1)
    np.testing.assert_allclose(inner(x, y), exact, rtol=1e-4, atol=1e-4)


def test_parts_of_columns_are_columns():
    conv = tc.define("def conv(float(H) x, float(K) w) -> (y) { y(j) +=! x(j+k) * w(k) }").conv
    split = conv.compile(split_reductions={"y": 2})
    assert "lane" not in split.show("loops") and "j_i" in split.show("loops")
    x, w = data(40), data(5)
    np.testing.assert_allclose(split(x, w), np.convolve(x, w[::-1], "valid"), rtol=1e-5, atol=1e-5)


def test_workers_share_the_parts():
    function = tc.define("def total(float(N) x) -> (s) { s +=! x(i) }").total
    kernel = function.compile(threads=2, split_reductions={"s": 32}).show("loops")
    assert "for w in team(workers):" in kernel and "barrier(team)" in kernel
    whole = function.compile(threads=2)
    assert "for lane" in whole.show("loops") and "team" in whole.show("loops"), "they share the lanes"
    x = data(1000)
    assert whole(x).tobytes() == function.compile(threads=1)(x).tobytes() == LIB.whole32(x[None])[0].tobytes()


@pytest.mark.parametrize(
    ("split", "what"),
    [
        ({"y": 3}, "has no reduction 'y' to split\n  fix: total is one"),
        ({"total": 0}, "cannot split 'total' into parts of 0\n  fix: an integer from 1 up"),
        ({"total": 2.0}, "cannot split 'total' into parts of 2.0"),
    ],
)
def test_splits_that_are_refused(split, what):
    with pytest.raises(tc.TcError, match=what):
        LIB.planes.compile(split_reductions=split)


@pytest.mark.parametrize("length", [1, 3, 4, 5, 12, 31, 32])
def test_fixed_lengths_have_the_order_of_all_lengths(length):
    x = data(7, length)
    assert LIB.whole32.compile(sizes={"K": length})(x).tobytes() == LIB.whole32(x).tobytes()


@pytest.mark.parametrize("operator", ["max=!", "+=!"])
def test_lanes_that_a_short_row_leaves_empty_are_not_computed(operator):
    """The partial results of nothing put together are that of nothing: bits are those of rows of any length."""
    program = tc.define(f"def f(float(N,M) x) -> (y) {{ y(n) {operator} x(n,m) }}")
    some, fixed = program.f.compile(threads=1), program.f.compile(sizes={"M": 7}, threads=1)
    assert "y_lanes" in some.show("loops") and "y_lanes" not in fixed.show("loops")
    x = np.random.default_rng(0).standard_normal((9, 7), np.float32)
    x[3] = -0.0
    x[4, 2] = np.nan
    assert some(x).tobytes() == fixed(x).tobytes()
