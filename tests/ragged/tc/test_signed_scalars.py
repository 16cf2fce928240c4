"""Integer scalars of either sign: no proof takes them for sizes, which are not negative."""

import numpy as np
import pytest

import ragged
from ragged import tc
from ragged.errors import DataError

BIG = np.arange(1, 400, dtype=np.float32)
X = BIG[100:104]
ROWS = ragged.array([[1, 2], [3, 4, 5]], dtype=np.float32)
OUTSIDE = "is outside"


@pytest.mark.parametrize(
    ("text", "args"),
    [
        (
            "def f(int s, int32(B) z, float(N) x) -> (y) { y(i) = z(i) >= 0 && z(i) < N - s ? x(z(i)) : 0.0 }",
            (-3, np.array([0, 1, 5], np.int32), X),
        ),
        (
            "def f(int s, int32(B) z, float(N) x) -> (y) { y(i) = z(i) >= s && z(i) < N ? x(z(i)) : 0.0 }",
            (-3, np.array([0, 1, -2], np.int32), X),
        ),
        (
            "def f(int s, int32(B) z, float(N) x) -> (y) { y(i) = i < N - s ? x(i) : 0.0 where i in 0:B }",
            (-3, np.zeros(6, np.int32), X),
        ),
        (
            "def f(int s, int32(B) z, float(N) x) -> (y) { y(i) +=! k + s < N ? x(k) : 0.0 where i in 0:B, k in 0:B }",
            (-3, np.zeros(6, np.int32), X),
        ),
        ("def f(int s, float(N) x) -> (y) { y(i) +=! x(j) where i in 0:N, j in 0:i+1-s }", (-(10**9), X)),
        (
            "def f(int s, int32(B) n, float(B,n(B)) x) -> (y) { y(b) +=! x(b,j) where j in 0:n(b)-s }",
            (-3, np.array([2, 3], np.int32), ROWS),
        ),
        (
            "def f(int s, int32(B) n, float(B,n(B)) x) -> (y) { y(b,j) = x(b,j+s) where j in 0:n(b)-s }",
            (-3, np.array([2, 3], np.int32), ROWS),
        ),
        (
            "def f(int s, int32(B) n, float(B,n(B)) x) -> (y) { y(b) +=! x(b,j-s) where j in s:n(b) }",
            (-3, np.array([2, 3], np.int32), ROWS),
        ),
    ],
)
def test_what_a_negative_scalar_lets_be_read_outside_is_refused(text, args):
    f = tc.define(text).f
    with pytest.raises((DataError, tc.TcError), match=OUTSIDE):
        f(*args)
    one = f(1, *args[1:]) if "z(i)" not in text else f(1, np.zeros(2, np.int32), X)
    assert np.isfinite(np.asarray(one.values if isinstance(one, ragged.RaggedArray) else one)).all()


@pytest.mark.parametrize(
    ("statement", "scalars"),
    [
        ("y(b) +=! x(0,0) where b in 0:B-s, j in 0:n(b)", (-3, -(10**8))),
        ("y(b,j) = x(0,0) where b in 0:B-s, j in 0:n(b)", (-3, -(10**8))),
        ("y(b) +=! x(0,0) where b in 0:B, j in 0:n(b-s)", (1, -3, 10**8)),
        ("y(b) = x(0,0) * float(n(b)) where b in 0:s", (5, 10**8)),
        ("y(b) +=! x(b+s,j) where b in 0:B-s, j in 0:n(b)", (-3, -(10**8))),
    ],
)
def test_no_lengths_are_read_outside(statement, scalars):
    f = tc.define(f"def f(int s, int32(B) n, float(B,n(B)) x) -> (y) {{ {statement} }}").f
    for s in scalars:
        with pytest.raises(DataError, match=r"of dimension 0 of 'n' is outside \[0, 2\)"):
            f(s, np.array([2, 3], np.int32), ROWS)


def test_no_lengths_are_read_outside_by_ragged_functions():
    b, t = ragged.dim("b"), ragged.size("T")
    n = ragged.length_fn("n", over=b)
    a = ragged.input_tensor("A", [(b, ragged.size("B")), (ragged.dim("q"), n(b))])
    dense = ragged.compute("Y", [(ragged.dim("r"), t)], lambda i: ragged.sum(n(i), lambda k: a[0, 0]))
    later = ragged.compute("Y", [(b, ragged.size("B"))], lambda i: ragged.sum(n(i + t), lambda k: a[0, 0]))
    wide = ragged.compute("Y", [(b, t), (ragged.dim("w"), n(b))], lambda i, j: a[0, 0])
    for tensor, legal in ((dense, 2), (later, 0), (wide, 2)):
        f = ragged.compile(tensor)
        f(A=ROWS, T=legal)
        with pytest.raises(DataError, match=r"of dimension 0 of 'n' is outside \[0, 2\)"):
            f(A=ROWS, T=5)


def test_arithmetic_of_scalars_beyond_64_bits():
    text = "s >= 0 && i + s*s*s < M ? L(i,j) * x(i) : 0.0 where i in 0:N, j in 0:i+1"
    f = tc.define(f"def f(int s, float(N,N) L, float(M) x) -> (y) {{ y(i) +=! {text} }}").f
    square = np.ones((6, 6), np.float32)
    assert f(1, square, X).tolist() == [101, 204, 309, 0, 0, 0]
    with pytest.raises(DataError, match="and indices are below 2"):
        f(2**21, square, X)
    g = tc.define(
        "def g(int64 s, float(N,N) L) -> (y) { y(i) +=! i + s < N ? L(i,j) : 0.0 where j in 0:i+1 }"
    ).g
    with pytest.raises(tc.TcError, match="what indices are made of is from -2"):
        g(2**63 - 1, square)
    scaled = tc.define(
        "def h(int64 s, float(N,N) L) -> (y) { y(i) +=! L(i,j) * float(s) where j in 0:i+1 }"
    ).h
    assert scaled(5_000_000_000, square[:2, :2]).tolist() == [5e9, 1e10]


def test_a_negative_scalar_that_stays_inside():
    f = tc.define(
        "def f(int s, float(N) x) -> (y) { y(i) = i + s >= 0 && i + s < N ? x(i + s) : 0.0 where i in 0:N }"
    ).f
    for s in (-2, 0, 3):
        want = [X[i + s] if 0 <= i + s < 4 else 0 for i in range(4)]
        assert f(s, X).tolist() == want


def test_no_size_of_a_program_is_negative():
    r = ragged.dim("r")
    N, S = ragged.size("N"), ragged.size("S")
    x = ragged.input_tensor("X", [(r, N)])
    shorter = ragged.compile(ragged.compute("Z", [(r, N - S)], lambda i: x[i]))
    sums = ragged.compile(ragged.compute("Y", [(r, N)], lambda i: ragged.sum(N - S, lambda q: x[q])))
    assert shorter(X=X, S=1).tolist() == X[:3].tolist() and sums(X=X, S=2)[0] == X[:2].sum()
    for f in (shorter, sums):
        with pytest.raises(DataError, match="'S' is -3, and no size is negative"):
            f(X=X, S=-3)
