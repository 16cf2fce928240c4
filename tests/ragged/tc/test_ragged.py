"""Extents that vary with an outer index: lengths, triangles, and what is refused of them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ragged
from ragged import tc
from ragged.errors import DataError

TEXT = """
def dots(int32(B) n, float(B, n(B), C) x) -> (d) { d(k,i,j) +=! x(k,i,c) * x(k,j,c) where j in 0:n(k) }
def triangle(float(N,N) a) -> (y) { y(i,j) = a(i,j) where j in 0:i+1 }
def lower_product(float(N,N) L, float(N) x) -> (y) { y(i) +=! L(i,j) * x(j) where j in 0:i+1 }
def mean(int32(B) n, float(B, n(B), C) x) -> (m) {
  s(b,c) +=! x(b,i,c)
  m(b,c) = s(b,c) / max(n(b), 1)
}
def steps(int32(B) n, float(B, n(B)) x) -> (y) { y(b,j) = x(b,j+1) - x(b,j) where j in 0:max(n(b)-1,0) }
def ramp(int32(B) n) -> (y) { y(b,j) = float(j) where j in 0:n(b) }
def bag(int32(B) n, int32(B, n(B)) word, float(V,E) emb) -> (y) { y(b,e) +=! emb(word(b,i),e) }
def nested(int32(B) n, int32(B, n(B)) m, float(B, n(B), m(B, n(B))) x) -> (y) { y(b,i) +=! x(b,i,j) }
def softmax(int32(B) n, float(B, n(B)) x) -> (y) {
  most(b) max=! x(b,j)
  e(b,j) = exp(x(b,j) - most(b))
  total(b) +=! e(b,j)
  y(b,j) = e(b,j) / total(b)
}
def twice(int32(B) n, float(B, n(B)) x) -> (y) {
  s = softmax(n, x)
  y = softmax(n, s)
}
def both(int32(B) n, float(B, n(B)) x) -> (s, y) {
  s(b) +=! x(b,i)
  y(b,i) = x(b,i) - s(b)
}
"""
LIB = tc.define(TEXT)
ATTENTION = Path(__file__).resolve().parents[3] / "examples" / "tc" / "ragged" / "attention.tc"
lengths = st.lists(st.integers(0, 5), min_size=1, max_size=5)
SOME = [3, 0, 5, 1]


def rows(lengths, *inner, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((length, *inner)).astype(np.float32) for length in lengths]


def softmax(row):
    e = np.exp(row.astype(np.float64) - row.max(initial=-np.inf))
    return e / e.sum()


def agree(got, expected):
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-4, atol=1e-5)


REFERENCES = {
    "dots": (lambda x: [r @ r.T for r in x], (4,)),
    "mean": (lambda x: [r.sum(0) / max(len(r), 1) for r in x], (3,)),
    "steps": (lambda x: [np.diff(r) for r in x], ()),
    "softmax": (lambda x: [softmax(r) for r in x], ()),
    "twice": (lambda x: [softmax(softmax(r)) for r in x], ()),
}


@pytest.mark.parametrize("name", REFERENCES)
@settings(max_examples=12, deadline=None)
@given(lengths)
def test_functions_of_rows(name, lengths):
    reference, inner = REFERENCES[name]
    x = rows(lengths, *inner)
    agree(LIB[name](np.array(lengths, np.int32), x), reference(x))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_triangles(n):
    a, x = rows([n, n], n)
    agree(LIB.triangle(a), [a[i, : i + 1] for i in range(n)])
    agree(LIB.lower_product(a, x[0]), np.tril(a) @ x[0])


def test_lengths_alone():
    agree(LIB.ramp([2, 0, 3]), [np.arange(2), np.arange(0), np.arange(3)])


def test_lengths_over_two_dimensions():
    x = ragged.array([rows([3, 2]), rows([4])])
    y = LIB.nested([2, 1], [3, 2, 4], x)
    agree(y, [[row.sum() for row in rows([3, 2])], [row.sum() for row in rows([4])]])


def test_a_size_of_what_is_not_read():
    lib = tc.define("""
    def pad(int32(B) n, float(B,n(B)) x, float(T) like) -> (y) {
      y(b,t) = t < n(b) ? x(b,t) : 0.0 where b in 0:B, exists like(t)
    }
    def wide(int32(B) n, float(B,n(B)) x, float(B,n(B),T) like) -> (y) {
      y(b,t) = t < n(b) ? x(b,t) : 0.0 where b in 0:B, t in 0:T
    }
    """)
    x = [np.ones(2, np.float32), np.ones(1, np.float32)]
    want = [[1, 1, 0], [1, 0, 0]]
    np.testing.assert_array_equal(lib.pad([2, 1], x, np.zeros(3, np.float32)), want)
    like = [np.zeros((length, 3), np.float32) for length in (2, 1)]
    for rows_of_three in (like, ragged.array(like)):
        np.testing.assert_array_equal(lib.wide([2, 1], x, rows_of_three), want)


def test_rows_that_begin_with_a_constant():
    lib = tc.define("""def lin(int32(B) n, float(B,n(B),D) x, float(E,D) w, float(E) c) -> (y) {
      y(b,t,e) = c(e)
      y(b,t,e) += x(b,t,d) * w(e,d)
    }""")
    x, w, c = (
        [np.ones((2, 3), np.float32), np.ones((1, 3), np.float32)],
        np.eye(4, 3, dtype=np.float32),
        np.arange(4),
    )
    agree(lib.lin([2, 1], x, w, c.astype(np.float32)), [each @ w.T + c for each in x])


def test_several_outputs_dense_and_ragged():
    found = LIB.both([2, 3], [np.ones(2, np.float32), np.ones(3, np.float32)])
    np.testing.assert_array_equal(found["s"], [2, 3])
    agree(found["y"], [[-1, -1], [-2, -2, -2]])


def test_words_are_looked_up_and_checked():
    emb = np.eye(3, dtype=np.float32)
    words = [np.array(each, np.int32) for each in ([1, 2], [], [0])]
    np.testing.assert_array_equal(LIB.bag([2, 0, 1], words, emb), [[0, 1, 1], [0, 0, 0], [1, 0, 0]])
    words[2][0] = 7
    with pytest.raises(
        DataError, match=r"index 7 of dimension 0 of 'emb' is outside \[0, 3\): 'word'\[2, 0\]"
    ):
        LIB.bag([2, 0, 1], words, emb)


def test_what_is_not_proven_is_checked_for_each_element():
    text = "def f(int32(B) n, float(B,n(B)) x) -> (y) { y(b,j) = x(b,j+1) where j in 0:n(b) }"
    f = tc.define(text).f
    assert "checked for each element: 0 <= j + 1 < n(b)" in f.show("checks")
    with pytest.raises(DataError, match=r"index 2 of dimension 1 of 'x' is outside \[0, 2\)"):
        f([2, 1], rows([2, 1]))


def test_attention_is_that_of_the_operator_and_tiled_by_default():
    attention = tc.define(ATTENTION.read_text(encoding="utf-8")).attention
    q, k, v = (ragged.array(rows([33, 0, 2, 65], 2, 8, seed=seed)) for seed in range(3))
    expected = ragged.ops.scaled_dot_product_attention(q, k, v)
    n = np.array([33, 0, 2, 65], np.int32)
    for function in (attention, attention.compile(sizes={"H": 2, "D": 8})):
        np.testing.assert_allclose(function(n, q, k, v).values, expected.values, rtol=1e-4, atol=1e-5)
        assert "applied s.tile_rows(" in function.explain()


def test_arrays_of_other_libraries_and_out():
    x = rows(SOME, 3)
    expected = LIB.mean(SOME, ragged.array(x))
    out = np.empty((4, 3), np.float32)
    assert LIB.mean(n=np.array(SOME), x=x, out=out) is out
    np.testing.assert_array_equal(out, expected)
    dots = LIB.dots(SOME, x)
    place = ragged.RaggedArray.full(dots.extents, np.nan, np.float32)
    assert LIB.dots(SOME, x, out=place) is place and place.equal(dots)
    with pytest.raises(DataError, match="'x' extends 3 in dimension 'x_2', not 4"):
        LIB.mean.compile(sizes={"C": 4})(SOME, x)


def test_texts_print_and_are_named_by_their_sizes():
    again = tc.define(str(LIB))
    assert str(again) == str(LIB)
    assert LIB.dots.parameters == {"x": ("float32", ("B", "n(B)", "C"))}
    assert LIB.dots.show("ranges").endswith("k in 0:B\n  i in 0:n(k)\n  j in 0:n(k)\n  c in 0:C")
    assert LIB.dots.varies and not tc.define("def f(float(N) x) -> (y) { y(i) = x(i) }").f.varies


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LIB.dots([3, 0, 5, 2], rows(SOME, 4)), "'n' disagrees with dots: 'x' on the lengths\n"),
        (lambda: LIB.dots([3, 0, 5], rows(SOME, 4)), "'n' has 3 lengths, and dots: 'x' has 4"),
        (lambda: LIB.dots(x=rows(SOME, 4)), "dots is not given 'n'"),
        (lambda: LIB.dots(SOME, np.ones((4, 4), np.float32)), "'x' has 2 dimensions, not 3"),
        (lambda: LIB.steps([0], [np.zeros(0, np.float64)]), "'x' holds float64, not float32"),
        (lambda: LIB.dots.infer(), "infer of 'dots' is not defined: extents of its arrays vary"),
        (lambda: LIB.dots.torch(), "torch of 'dots' is not defined: extents of its arrays vary"),
        (lambda: LIB.dots.compile(parameters={"n": SOME}), "dots has no tensor 'n' to bind"),
    ],
)
def test_refused_calls(call, message):
    with pytest.raises((tc.TcError, DataError)) as refused:
        call()
    assert message in f"{refused.value}\n"


@pytest.mark.parametrize(
    ("text", "phase", "message"),
    [
        ("float(B,n(B)) x) -> (y) { y(j,k) = x(k,j) }", "range", "'j' in 'y(j, k) = x(k, j)' depends on 'k'"),
        ("float(B,n(B)) x) -> (y) { y(j) +=! x(k,j) }", "range", "fix: 'k' before 'j' among the indices of 'y'"),
        ("float(B,n(B)) x) -> (y) { y(b,j) = x(b,j+1) }", "range", "dimension 1 of 'y' begins elsewhere than at 0"),
        ("float(B,n(C)) x) -> (y) { y(j) +=! x(k,j) }", "check", "fix: a dimension before it with the extent 'C'"),
        ("float(n(B),B) x) -> (y) { y(j) +=! x(k,j) }", "check", "'n(B)' is no extent here"),
        ("float(B,n(B,B)) x) -> (y) { y(j) +=! x(k,j) }", "check", "'n' has 1 dimensions and is read at 2 indices"),
        ("float(B) x) -> (y) { y(i,j) = x(i) where i in 0:j, j in 0:i }", "range", "depends on 'j'"),
        ("float(B) x) -> (y) { y(i,j) = x(i) where j in 0:x(i) }", "check", "'x' cannot be used in the bounds"),
        ("float(B) x) -> (y) { n(i) = 2 y(i,j) = x(i) where j in 0:n(i) }", "check", "'n' is written, and is a size"),
    ],
)  # fmt: skip
def test_refused_texts(text, phase, message):
    with pytest.raises(tc.TcError) as refused:
        tc.define(f"def f(int32(B) n, {text}")
    assert refused.value.phase == phase and message in str(refused.value)


def test_a_call_needs_lengths():
    text = f"{TEXT}\ndef f(int32(B) n, float(B,B) x) -> (y) {{ y = softmax(n, x) }}"
    with pytest.raises(tc.TcError, match="'n' of 'softmax' has lengths, and is given 'n'"):
        tc.define(text)


LOWER = np.ones((3, 3), np.float32)


def of_triangle(parameters, statements):
    """Return a function of the lower triangle of a matrix and further parameters."""
    return tc.define(f"def f({parameters}float(N,N) L) -> (y) {{ {statements} where j in 0:i+1 }}").f


def test_scalars_are_checked_as_where_nothing_varies():
    f = of_triangle("int s, ", "y(i) +=! L(i,j) * float(s)")
    for three in (3, np.int64(3), np.array(3), torch.tensor(3)):
        assert f(three, LOWER).tolist() == [3, 6, 9]
    assert f.compile(sizes={"s": 3})(3, LOWER).tolist() == [3, 6, 9]
    with pytest.raises(tc.TcError, match="f is compiled for s = 2, and is called with 3"):
        f.compile(sizes={"s": 2})(3, LOWER)
    with pytest.raises(tc.TcError, match="'s' = 1099511627776, and it is of type int32"):
        f(2**40, LOWER)
    with pytest.raises(tc.TcError, match="'s' = -1, and it is of type uint8"):
        of_triangle("uint8 s, ", "y(i) +=! L(i,j) * float(s)")(-1, LOWER)
    g = of_triangle("float q, bool c, ", "y(i) +=! c ? L(i,j) * q : 0.0")
    assert g(2.0, True, LOWER).tolist() == [2, 4, 6]
    assert type(g(2.0, True, torch.ones(3, 3))) is torch.Tensor
    with pytest.raises(tc.TcError, match="'q' = 'a', and it is of type float32"):
        g("a", True, LOWER)


def test_outputs_that_begin_with_values_of_the_call():
    f = of_triangle("", "y(i) = y(i) * 2  y(i) += L(i,j)")
    out = np.array([1, 2, 3], np.float32)
    assert f(LOWER, out=out) is out and out.tolist() == [3, 6, 9]
    with pytest.raises(tc.TcError, match="'y' is read before it is written"):
        f(LOWER)
    with pytest.raises(DataError, match="'L' extends 3 in dimension 'L_0', and f: 'y_in' has N = 4"):
        f(LOWER, out=np.ones(4, np.float32))


def test_results_by_the_names_of_the_text_and_of_bfloat16():
    f = tc.define("def f(float(N,N) L) -> (y) { y(i) +=! L(i,j) where j in 0:i+1  y(i) = y(i) * 10 }").f
    y = np.zeros(3, np.float32)
    assert f(LOWER, out={"y": y}) is y and y.tolist() == [10, 20, 30]
    with pytest.raises(DataError, match="out= names 'z'"):
        f(LOWER, out={"z": y})
    g = tc.define("def f(bfloat16(N,N) out) -> (y) { y(i) +=! out(i,j) where j in 0:i+1 }").f
    narrow = torch.zeros(3, dtype=torch.bfloat16)
    assert g(torch.ones(3, 3, dtype=torch.bfloat16), out=narrow) is narrow and narrow.tolist() == [1, 2, 3]
    started = of_triangle("", "y(i) = y(i) * 2  y(i) += L(i,j)")
    with pytest.raises(
        tc.TcError, match=r"f is given out= for 'y' that cannot be written\n.*requires a gradient"
    ):
        started(LOWER, out=torch.zeros(3, requires_grad=True))


def test_a_parameter_named_out():
    f = tc.define("def f(float(N,N) out) -> (y) { y(i) +=! out(i,j) where j in 0:i+1 }").f
    y = np.zeros(3, np.float32)
    assert f(LOWER, out=y) is y and y.tolist() == [1, 2, 3]
    rows_of = tc.define("def f(float(N,N) out) -> (y) { y(i,j) = out(i,j) where j in 0:i+1 }").f
    with pytest.raises(tc.TcError, match="f is given out= for 'y', the extents of which vary"):
        rows_of(LOWER, out=y)
