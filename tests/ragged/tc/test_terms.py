"""Sums of several products: one after another, each where its condition holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragged import tc

LIB = tc.define("""
def taps(int32 D, float(B,R,T) x, float(C,R,2) w, float(C) b) -> (y) {
  y(b0,c,t) = b(c) where b0 in 0:B, t in 0:T
  y(b0,c,t) += x(b0,r,t) * w(c,r,1) + (D >= 0 && t - D >= 0 ? x(b0,r,t - D) * w(c,r,0) : 0)
}
def two(float(M,K) a, float(K,N) b, float(M,K) c, float(K,N) d) -> (y) {
  y(m,n) +=! a(m,k) * b(k,n) + c(m,k) * d(k,n)
}
def edge(int32 D, float(R,T) x, float(C,R) w) -> (y) {
  y(c,t) +=! D >= 0 && t - D >= 0 ? x(r,t - D) * w(c,r) : 0 where t in 0:T
}
def chain(float(M,K) a, float(K,N) b, float(N,P) c) -> (y) {
  t(m,n) +=! a(m,k) * b(k,n)
  y(p,m) +=! t(m,n) * c(n,p)
}
def kept(float(M,K) a, float(K,N) b, float(N) c) -> (y) {
  y(m,n) +=! a(m,k) * b(k,n) + c(n)
}
def gated(float(M,K) x, float(K,N) a, float(K,N) c) -> (y) {
  s(m,n) +=! x(m,k) * a(k,n)
  t(m,n) +=! x(m,k) * c(k,n)
  y(m,n) = s(m,n) * sigmoid(t(m,n))
}
def axis(int32 D, float(M,K) a, float(K,N) b) -> (y) {
  y(m,n) +=! k < D ? a(m,k) * b(k,n) : 0
}
""")


def data(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def shifted(x, places):
    out = np.zeros_like(x)
    if 0 <= places <= x.shape[-1]:
        out[..., places:] = x[..., : x.shape[-1] - places]
    return out


sizes = st.integers(0, 5)


@settings(max_examples=40)
@given(st.integers(0, 2), sizes, sizes, st.integers(0, 150), st.integers(-1, 160))
def test_taps(batch, r, c, t, d):
    x, w, b = data(0, batch, r, t), data(1, c, r, 2), data(2, c)
    want = (
        b[:, None]
        + np.einsum("brt,cr->bct", x, w[:, :, 1])
        + np.einsum("brt,cr->bct", shifted(x, d), w[:, :, 0])
    )
    np.testing.assert_allclose(LIB.taps(d, x, w, b), want, rtol=1e-4, atol=1e-5)
    want = np.einsum("rt,cr->ct", shifted(x.sum(0), d), w[:, :, 0]) if batch else np.zeros((c, t))
    np.testing.assert_allclose(LIB.edge(d, x.sum(0), w[:, :, 0].copy()), want, rtol=1e-4, atol=1e-5)


@settings(max_examples=25)
@given(sizes, st.integers(0, 40), st.integers(0, 70), st.integers(0, 70))
def test_products_of_inputs_and_of_temporaries(m, k, n, p):
    a, b, c, d = data(0, m, k), data(1, k, n), data(2, m, k), data(3, k, n)
    np.testing.assert_allclose(LIB.two(a, b, c, d), a @ b + c @ d, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(LIB.two(a, b, a, b), 2 * (a @ b), rtol=1e-4, atol=1e-4)
    e = data(4, n, p)
    np.testing.assert_allclose(LIB.chain(a, b, e), (a @ b @ e).T, rtol=1e-3, atol=1e-3)


def test_a_term_is_not_added_where_its_condition_fails():
    """A product with an infinite weight is not a number of zeros."""
    x, w = data(0, 1, 3, 20), np.full((2, 3, 2), np.inf, np.float32)
    w[:, :, 1] = 1
    got = LIB.taps(4, x, w, np.zeros(2, np.float32))
    np.testing.assert_allclose(got[0, :, :4], np.tile(x[0].sum(0)[:4], (2, 1)), rtol=1e-5)
    assert not np.isfinite(got[0, :, 4:]).any()


@pytest.mark.parametrize(
    ("name", "terms"), [("taps", 2), ("two", 1), ("edge", 1), ("kept", 0), ("axis", 0), ("chain", 0)]
)
def test_what_is_split(name, terms):
    text = LIB[name].compile(threads=1).show("loops")
    assert sum(f"y_term{end}: workspace" in text for end in ("", "_2")) == terms


def test_a_term_has_register_tiles():
    text = LIB.taps.compile(threads=1).show("loops")
    assert text.count("_acc = local(float32[") > 4 and "x_padded: workspace" in text


def test_what_is_not_split_is_right():
    a, b, c = data(0, 3, 4), data(1, 4, 5), data(2, 5)
    np.testing.assert_allclose(LIB.kept(a, b, c), a @ b + 4 * c, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(LIB.axis(2, a, b), a[:, :2] @ b[:2], rtol=1e-5, atol=1e-5)


def test_a_sum_that_goes_on_from_another_is_tiled_too():
    for threads in (1, 2):
        f = LIB.two.compile(threads=threads)
        loops = f.show("loops")
        assert "y_acc = local(" in loops and "y_term_acc = local(" in loops
        for m, n, k in ((5, 37, 7), (13, 70, 3), (1, 3, 1)):
            a, b, c, d = data(0, m, k), data(1, k, n), data(2, m, k), data(3, k, n)
            np.testing.assert_allclose(f(a, b, c, d), a @ b + c @ d, rtol=1e-4, atol=1e-4)


def test_two_sums_of_one_reader_have_tiles():
    x, a, c = data(0, 48, 64), data(1, 64, 96), data(2, 64, 96)
    f = LIB.gated.compile(threads=1)
    np.testing.assert_allclose(f(x, a, c), (x @ a) / (1 + np.exp(-(x @ c))), rtol=1e-4, atol=1e-4)
    loops = f.show("loops")
    assert all(f"{name}_acc = local(float32[" in loops for name in ("s", "t"))
