"""Gradients of functions with extents that vary: ragged arrays, prefixes, and shifts between these."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ragged
from ragged import tc

STEP = 1e-5
EXAMPLES = Path(__file__).parents[3] / "examples" / "tc" / "ragged"

DENSE = tc.define("""
def cumulative(double(N,N) x, double(N,M) z) -> (y) { y(i,j) +=! x(i,k) where k in 0:j+1, j in 0:N }
def before(double(N,N) x, double(N,M) z) -> (y) { y(i,j) +=! x(i,k) * x(i,j) where k in 0:j, j in 0:N }
def after(double(N,N) x, double(N,M) z) -> (y) { y(i,j) +=! x(i,j+k) where k in 0:N-j, j in 0:N }
def window(double(N,N) x, double(N,M) z) -> (y) { y(i,j) +=! x(i,j-k) where k in 0:min(j+1,3), j in 0:N }
def upper(double(N,N) x, double(N,M) z) -> (y) { y(i,j) +=! x(i,k) where k in j:N, j in 0:N }
def triangle(double(N,N) x, double(N,M) z) -> (y) { y(i,j) +=! x(i,k) * z(k,j) where k in 0:i+1 }
def largest(double(N,N) x, double(N,M) z) -> (y) { y(i,j) max=! x(i,k) where k in 0:j+1, j in 0:N }
def products(double(N,N) x, double(N,M) z) -> (y) { y(i,j) *=! x(i,k) where k in 0:j+1, j in 0:N }
def total(double(N,N) x, double(N,M) z) -> (y) { y +=! z(j,0) * exp(x(j,k)) where j in 0:N, k in 0:j+1 }
def names(double(N,N) x, double(N,M) z) -> (y) {
  t(p) +=! x(p,q) * z(p,0) where q in 0:p+1
  y(i) +=! x(i,k) * z(i,0) * t(i) where k in 0:i+1
}
def stored(double(N,N) x, double(N,M) z) -> (y) {
  t(p,q) = x(p,q) * z(p,0) where q in 0:p+1, p in 0:N
  y(i) +=! x(k,i) * t(i,k) where k in 0:i+1
}
def inferred(double(N,N) x, double(N,M) z) -> (y) {
  t(i,k) = x(i,k) * x(i,k) where k in 0:i+1, i in 0:N
  w(i) +=! t(i,k) * z(i+1,0) where i in 0:N-1, k in 0:i+1
  y(i) = w(i) * w(i)
}
def named(double(N,N) x, double(N,M) z) -> (y) {
  t(i,k) = x(i,k) * z(i,0) where k in 0:i+1, i in 0:N
  y(i) +=! exp(t(i+1,k)) * t(i,k) where i in 0:N-1, k in 0:i+1
}
def named_apart(double(N,N) x, double(N,M) z) -> (y) { y(i) +=! exp(x(0,k)) * z(i,0) where i in 0:N, k in 0:i+1 }
def kept(double(N,N) x, double(N,M) z) -> (y) {
  y(i) = z(i,0)
  y(i) max= x(i,k) * z(k,1) where i in 2:N, k in 0:i
}
def nested(double(N,N) x, double(N,M) z) -> (y) {
  y(j) +=! x(0,j+k) * z(m,0) where j in 0:3, m in 0:j+1, k in 0:m+1
}
""")
RAGGED = tc.define("""
def squares(int32(B) n, double(B,n(B)) x) -> (y) { y(b,j) = x(b,j) * x(b,j) }
def sums(int32(B) n, double(B,n(B)) x) -> (y) { y(b) +=! x(b,j) * x(b,j) }
def whole(int32(B) n, double(B,n(B)) x) -> (y) { y +=! x(b,j) * x(b,j) }
def cumulative(int32(B) n, double(B,n(B)) x) -> (y) { y(b,j) +=! x(b,k) where k in 0:j+1, j in 0:n(b) }
def products(int32(B) n, double(B,n(B)) x) -> (y) { y(b,i,j) = x(b,i) * x(b,j) where i in 0:n(b), j in 0:n(b) }
def softmax(int32(B) n, double(B,n(B)) x) -> (y) {
  most(b) max=! x(b,j)
  e(b,j) = exp(x(b,j) - most(b))
  total(b) +=! e(b,j)
  y(b,j) = e(b,j) / total(b)
}
def mixed(int32(B) n, double(B,n(B)) x) -> (y) {
  s(b) +=! x(b,j)
  y(b,j) = tanh(x(b,j)) * s(b) where j in 0:n(b)
}
def backwards(int32(B) n, double(B,n(B)) x) -> (y) {
  e(b,i,j) = x(b,i) * x(b,j) where i in 0:n(b), j in 0:i+1
  w(b,i) +=! e(b,i,j) * x(b,n(b)-1-i) where i in 0:n(b), j in 0:i+1
  y(b,i) = w(b,i) * w(b,i)
}
def winners(int32(B) n, double(B,n(B)) x) -> (y) {
  e(b,i,j) = x(b,i) * x(b,j) where i in 0:n(b), j in 0:i+1
  y(b,i) max=! e(b,i,j) * (i > 0 ? x(b,i-1) : 1.0) where i in 0:n(b), j in 0:i+1
}
""")


def differences(f, x, d_y):
    """The gradient of `(f(x) * d_y).sum()` by the elements of `x`."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        ends = []
        for step in (STEP, -STEP):
            moved = x.copy()
            moved[place] += step
            ends.append((f(moved) * d_y).sum())
        found[place] = (ends[0] - ends[1]) / (2 * STEP)
    return found


@pytest.mark.parametrize("name", DENSE.functions)
def test_gradients_of_prefixes_agree_with_differences(name):
    random = np.random.default_rng(0)
    f = DENSE[name]
    x, z = random.standard_normal((5, 5)), random.standard_normal((5, 3))
    d_y = random.standard_normal(np.shape(f(x, z)))
    got = f.gradient(["x", "z"])(x, z, d_y if d_y.shape else float(d_y))
    np.testing.assert_allclose(got["d_x"], differences(lambda v: f(v, z), x, d_y), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(got["d_z"], differences(lambda v: f(x, v), z, d_y), rtol=1e-6, atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(sorted(RAGGED.functions)),
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_gradients_of_ragged_arrays_agree_with_differences(name, lengths, seed):
    random = np.random.default_rng(seed)
    f = RAGGED[name]
    values, n = random.standard_normal(sum(lengths)), np.array(lengths, np.int32)

    def call(x):
        y = f(n, ragged.array(x, lengths=lengths))
        return y, np.asarray(getattr(y, "values", y))

    y, flat = call(values)
    d_y = random.standard_normal(flat.shape)
    cotangent = ragged.array(d_y, extents=y.extents) if isinstance(y, ragged.RaggedArray) else d_y
    got = f.gradient(["x"])(n, ragged.array(values, lengths=lengths), cotangent if d_y.shape else float(d_y))
    assert got.lengths.tolist() == lengths
    np.testing.assert_allclose(
        got.values, differences(lambda v: call(v)[1], values, d_y), rtol=1e-6, atol=1e-8
    )


def test_lengths_are_read_where_there_are_rows():
    lib = tc.define("""
def same(int32(B) n, double(B,n(B)) x, double(M) u) -> (y) { y(b) +=! x(b,j) * u(b) where b in 0:B, j in 0:n(b) }
def next(int32(B) n, double(B,n(B)) x, double(M) u) -> (y) { y(b) +=! x(b,j) * u(b+1) where b in 0:B, j in 0:n(b) }
""")
    random, n = np.random.default_rng(3), np.array([2, 0, 3], np.int32)
    x, u, d_y = (random.standard_normal(count) for count in (5, 6, 3))
    sums = np.array([x[:2].sum(), 0, x[2:].sum()]) * d_y
    for f, first in ((lib.same, 0), (lib.next, 1)):
        got = f.gradient(["u"])(n, ragged.array(x, lengths=n), u, d_y)
        np.testing.assert_allclose(got, [*[0] * first, *sums, *[0] * (3 - first)], atol=1e-12)


def test_the_gradient_of_a_gradient():
    random = np.random.default_rng(1)
    values, n = random.standard_normal(6), np.array([2, 0, 4], np.int32)
    x, d_y = (ragged.array(each, lengths=n) for each in (values, random.standard_normal(6)))
    once = RAGGED.mixed.gradient(["x"])
    v = random.standard_normal(6)
    got = once.gradient(["x"])(n, x, d_y, ragged.array(v, lengths=n))
    want = differences(lambda moved: once(n, ragged.array(moved, lengths=n), d_y).values, values, v)
    np.testing.assert_allclose(got.values, want, rtol=1e-6, atol=1e-8)


def test_the_gradient_of_the_example_of_attention():
    f = tc.define((EXAMPLES / "attention.tc").read_text(encoding="utf-8")).attention
    random, n = np.random.default_rng(2), np.array([2, 0, 40], np.int32)
    q, k, v, d_o = (random.standard_normal((42, 2, 5), np.float32) for _ in range(4))
    given = [ragged.array(x, lengths=n) for x in (q, k, v, d_o)]
    gradient = f.gradient(["q", "k", "v"]).compile(threads=1)
    assert all(f"s.tile_rows(s.tensor('{name}')" in gradient.show("schedule") for name in ("w", "d_e"))
    got = gradient(n, *given)
    begin = 0
    for length in n:
        rows = [torch.from_numpy(x[begin : begin + length]).swapaxes(0, 1) for x in (q, k, v, d_o)]
        leaves = [each.requires_grad_() for each in rows[:3]]
        out = torch.nn.functional.scaled_dot_product_attention(*leaves)
        for name, want in zip("qkv", torch.autograd.grad(out, leaves, rows[3]), strict=True):
            own = got[f"d_{name}"].values.reshape(42, 2, 5)[begin : begin + length]
            np.testing.assert_allclose(own, want.swapaxes(0, 1), rtol=1e-4, atol=1e-5)
        begin += length


def test_sums_of_prefixes_as_operators_of_pytorch():
    lib = tc.define("""
def cumulative(float(M,N) x) -> (y) { y(i,j) +=! x(i,k) where k in 0:j+1, j in 0:N }
def triangle(float(N,N) a, float(N,P) z) -> (y) { y(i,p) +=! a(i,j) * z(j,p) where j in 0:i+1 }
""")
    assert lib.cumulative.infer(x=(3, 4)) == {"y": ((0, 3), (0, 4))}
    x = torch.randn(3, 7, requires_grad=True)
    y = lib.cumulative.torch()(x)
    torch.testing.assert_close(y, x.cumsum(1))
    (got,) = torch.autograd.grad(y.pow(2).sum(), x)
    (want,) = torch.autograd.grad(x.cumsum(1).pow(2).sum(), x)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
    triangle = lib.triangle.torch()
    given = torch.randn(5, 5, requires_grad=True), torch.randn(5, 2, requires_grad=True)
    assert set(torch.library.opcheck(triangle, given).values()) == {"SUCCESS"}
    torch.testing.assert_close(triangle(*given), torch.tril(given[0]) @ given[1])
    assert triangle(torch.zeros(0, 0), torch.zeros(0, 2)).shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def f(float(N,N) x) -> (y) { y(i,k) = x(i,k) where k in 0:i+1, i in 0:N }",
            "the gradient by 'y' is not defined: the extent of dimension 1 varies",
        ),
        (
            "def f(int32(B) n, float(B,n(B)) x) -> (y) { y(a,b,j) = x(a,j) * x(b,0) where b in 0:B, j in 0:n(a) }",
            "the gradient by 'y' is not defined: the extent of dimension 2 varies",
        ),
        (
            "def f(float(N,N) x) -> (y) { y max=! x(i,k) where i in 0:N, k in 0:i+1 }",
            "the gradient of 'y' is not defined: extents of its reduction vary",
        ),
    ],
)
def test_what_is_not_defined(text, message):
    with pytest.raises(tc.TcError) as refused:
        tc.define(text).f.gradient()
    assert message in str(refused.value) and "fix: " in str(refused.value)
