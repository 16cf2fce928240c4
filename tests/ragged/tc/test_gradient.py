"""Gradients against central differences in float64, and the texts that they are."""

import re
from random import Random

import numpy as np
import pytest

from ragged import tc
from tests.ragged.tc.reference import interpreted
from tests.ragged.tc.test_random_programs import Writer, arguments

STEP = 1e-6
CASES = {
    "convolution": ("(float(N,C,H,W) x, float(F,C,P,Q) w) -> (y) { y(n,f,h,v) +=! x(n,c,h+p,v+q) * w(f,c,p,q) }",
                    [(2, 2, 5, 4), (3, 2, 3, 2)]),
    "grouped": ("(float(N,G,C,H) x, float(G,F,C,P) w, float(G,F) b) -> (y) {"
                "y(n,g,f,h) +=! x(n,g,c,h+p) * w(g,f,c,p) y(n,g,f,h) = y(n,g,f,h) + b(g,f) }",
                [(2, 2, 2, 5), (2, 3, 2, 2), (2, 3)]),
    "strided": ("(float(C,H,W) x, float(F,C,P,Q) w) -> (y) { y(f,h,v) +=! x(c,2*h+p,3*v+q) * w(f,c,p,q) }",
                [(2, 7, 8), (2, 2, 3, 2)]),
    "dilated and reversed": ("(float(H) x, float(P) w) -> (y) { y(h) +=! x(h+2*p) * w(P-1-p) }", [(9,), (3,)]),
    "masked": ("(float(H) x, float(3) w) -> (y) { y(h) +=! (a >= 0 && a < H ? x(a) : 0) * w(k)"
               " where h in 0:H, k in 0:3, a = h + k - 1 }", [(6,), (3,)]),
    "mlp3": ("(float(B,N) i, float(O,N) u, float(O) a, float(P,O) v, float(P) b, float(Q,P) w) -> (x, y, z) {"
             "x(b,o) = a(o) x(b,o) += i(b,n) * u(o,n) x(b,o) = fmax(x(b,o), 0)"
             "y(b,p) +=! x(b,o) * v(p,o) y(b,p) = fmax(y(b,p) + b(p), 0)"
             "z(b,q) +=! y(b,p) * w(q,p) z(b,q) = tanh(z(b,q)) }",
             [(3, 4), (5, 4), (5,), (3, 5), (3,), (2, 3)]),
    "lookup": ("(float(E,D) t, int32(B,L) at, float(B,L) s) -> (y) { y(b,d) +=! t(at(b,l),d) * s(b,l) }",
               [(5, 2), [[0, 4, 4], [2, 0, 4]], (2, 3)]),
    "softmax": ("(float(N,D) x) -> (y) { m(n) max=! x(n,d) s(n) +=! exp(x(n,d)-m(n)) y(n,d) = exp(x(n,d)-m(n))/s(n) }",
                [(3, 5)]),
    "reassigned": ("(float(N,D) x) -> (t) { m(n) max=! x(n,d) t(n,d) = exp(x(n,d)-m(n)) s(n) +=! t(n,d)"
                   " t(n,d) = t(n,d) / s(n) }", [(3, 5)]),
    "layer norm": ("(float(N,K) x, float(K) g, float(K) b) -> (y) { m(n) +=! x(n,k) m(n) = m(n) / K"
                   " v(n) +=! (x(n,k)-m(n)) * (x(n,k)-m(n))"
                   " y(n,k) = (x(n,k)-m(n)) * rsqrt(v(n)/K + 0.01) * g(k) + b(k) }",
                   [(3, 6), (6,), (6,)]),
    "max pooling": ("(float(H,W) x) -> (y) { y(h,w) max=! x(2*h+p,3*w+q) where p in 0:2, q in 0:3 }", [(5, 7)]),
    "overlapping pooling": ("(float(H) x) -> (y) { y(h) min=! 2 * x(2*h+p) where p in 0:3 }", [(9,)]),
    "overlapping maxima": ("(float(H) x) -> (y) { y(h) max=! x(h+p) where p in 0:3 }", [(9,)]),
    "minima with gaps": ("(float(H) x) -> (y) { y(h) min=! x(3*h+p) where p in 0:2 }", [(9,)]),
    "product": ("(float(N,K) x, float(N) s) -> (p, q) { p(n) *=! x(n,k) q(n) = s(n) q(n) *= x(n,k) + 1 }",
                [(3, 4), (3,)]),
    "running maximum": ("(float(N,K) x, float(N) s) -> (m) { m(n) = s(n) m(n) max= x(n,k) * s(n) }", [(4, 3), (4,)]),
    "lower bounds": ("(float(N) x, float(N) w) -> (y, z) { y(i) = x(i-1) * w(i-1) z(i) = tanh(y(i+2)) }",
                     [(6,), (6,)]),
    "diagonal and sums": ("(float(N,N) x, float a) -> (d, s) { d(i) = a * x(i,i) s +=! x(i,j) * x(j,i) }",
                          [(4, 4), ()]),
    "transposed": ("(float(N,N) x) -> (t) { t(i,j) = sin(x(i,j)) t(i,j) = t(j,i) * t(i,j) }", [(3, 3)]),
    "in place": ("(float a, float(N,N) C) -> (C) { C(i,j) = a * C(i,j) C(i,j) += C(i,k) * a }", [(), (3, 3)]),
    "a part rewritten": ("(float(N) x, float(N) z) -> (y) { y(i) = x(i) * x(i) y(i) = sin(y(i)) * z(i) where i in 1:N-2"
                         " y(i) += z(i) where i in 2:N }", [(7,), (7,)]),
    "conditions": ("(float(N) x, float(N) z) -> (y) { y(i) = v > 0 ? exp(v) : (i % 2 == 0 ? z(i) / x(i) : -v)"
                   " where v = x(i) * z(i) }", [(8,), (8,)]),
    "functions": ("(float(N) x, float(N) z) -> (y) { y(i) = pow(1.5 + sin(x(i)), z(i)) + fabs(x(i)) * erf(z(i))"
                  " + fma(x(i), z(i), cos(x(i))) + fmin(x(i), z(i)) - max(x(i), z(i)) * log1p(exp(z(i)))"
                  " + floor(x(i)) * z(i) + hypot(x(i), z(i)) }", [(9,), (9,)]),
    "scalars": ("(int s, float(N) x, float a) -> (y) { y(i) = a * x(i + s) + sigmoid(a) where i in 0:N - s }",
                [2, (7,), ()]),
    "repeated": ("(float(N) x) -> (y) { y(i,j) = x(i + j) * x(i) where i in 0:N-2, j in 0:3 }", [(6,)]),
}  # fmt: skip


def defined(text, name="f"):
    return tc.define(f"def {name}{text}")[name]


def numbers(shapes, dtype, seed=0):
    """Return arrays: integers as given, floats at random, the same in each dtype."""
    rng, found = np.random.default_rng(seed), []
    for each in shapes:
        if isinstance(each, tuple):
            found.append(
                np.asarray(rng.uniform(0.3, 1.7, each) * rng.choice([-1, 1], each), np.float32).astype(dtype)
            )
        else:
            found.append(each if isinstance(each, int) else np.array(each, np.int32))
    return found


def outputs_of(function, *arrays):
    found = function(*arrays)
    return (
        found
        if isinstance(found, dict)
        else dict(zip(function._analysed.function.outputs, [found], strict=True))
    )


def differences(text, arrays, cotangents):
    """Return central differences of the sum of outputs times cotangents, in float64, for each array of floats."""
    function = defined(re.sub(r"\bfloat\b", "double", text)).compile(schedule=None)

    def value(given):
        return sum(
            np.vdot(d, y) for d, y in zip(cotangents, outputs_of(function, *given).values(), strict=True)
        )

    found = []
    for place, array in enumerate(arrays):
        if getattr(array, "dtype", None) != np.float64:
            continue
        slope = np.zeros_like(array)
        for at in np.ndindex(array.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = array.copy()
                moved[at] += step
                ends.append(value([*arrays[:place], moved, *arrays[place + 1 :]]))
            slope[at] = (ends[0] - ends[1]) / (2 * STEP)
        found.append(slope)
    return found


def check_gradient(text, arrays, *, seed=1, tolerance=1e-5):
    """Compare the gradient of a function, its printed text's too, with differences."""
    function = defined(text)
    gradient = function.gradient()
    assert str(tc.define(str(gradient))[gradient.name]) == str(gradient)
    wide = [
        each.astype(np.float64) if getattr(each, "dtype", None) == np.float32 else each for each in arrays
    ]
    rng, shapes = (
        np.random.default_rng(seed),
        [each.shape for each in interpreted(function, *arrays).values()],
    )
    cotangents = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    found = interpreted(gradient, *arrays, *cotangents)
    wanted = differences(text, wide, cotangents)
    assert len(found) == len(wanted)
    for (name, value), slope in zip(found.items(), wanted, strict=True):
        scale = max(1.0, np.abs(slope).max(initial=0.0))
        assert value.shape == slope.shape and value.dtype == np.float32
        np.testing.assert_allclose(
            value / scale, slope / scale, rtol=0, atol=tolerance, err_msg=f"{name}\n{gradient}"
        )
    return gradient


@pytest.mark.parametrize("name", sorted(CASES))
def test_against_differences(name):
    text, shapes = CASES[name]
    check_gradient(text, numbers(shapes, np.float32))


@pytest.mark.parametrize("seed", range(12))
def test_random_functions(seed):
    text = Writer(seed).text()
    given = arguments(seed)
    check_gradient(text.removeprefix("def f"), given, tolerance=1e-4)


TEXTS = tc.define("""
def conv(float(H) x, float(KW) w) -> (y) { y(j) +=! x(j + k) * w(k) }
def pool(float(H) x) -> (y) { y(h) max=! x(2 * h + p) where p in 0:2 }
def strided(float(H) x, float(K) w) -> (y) { y(h) +=! x(3 * h + k) * w(k) }
def weighted(float(H) x, float(K) w, float(H - K + 1) z) -> (y) { y(j) +=! x(j + k) * w(k) * z(j) }
def lookup(float(E,D) T, int32(B,L) at) -> (O) { O(b,d) +=! T(at(b,l),d) }
def layer(float(B,M) x, float(N,M) W, float(N) b) -> (y) {
  y(i,n) = b(n) y(i,n) += x(i,m) * W(n,m) y(i,n) = fmax(y(i,n), 0)
}
def twice(float(B,N) x, float(N,N) W, float(N) b) -> (z) { y = layer(x, W, b) z = layer(y, W, b) }
def shifted(float(N) x) -> (y) { y(i) = x(i - 1) * x(i - 1) }
def half(float16(N) x, double(N) w, float(N) v) -> (y) { y(i) = v(i) * w(i) * x(i) }
def counts(int32(N) x, float(N) w) -> (y, n) { y(i) = w(i) n +=! x(i) }
def gemm(float b, float(N,N) A) -> (C) { C(i,j) = b * C(i,j) C(i,j) += A(i,k) * A(k,j) }
def product(float(N) x) -> (y) { y *=! x(i) }
""")


def body(gradient):
    return [line.strip() for line in str(gradient).splitlines()[1:-1]]


def test_index_maps_are_inverted():
    gradient = TEXTS.conv.gradient(wrt=("x",))
    assert str(gradient).startswith(
        "def conv_gradient(float(H) x, float(KW) w, float(H - KW + 1) d_y) -> (d_x)"
    )
    assert body(gradient) == [
        "padded_y(j) = 0 <= j && j < H - KW + 1 ? d_y(j) : 0.0 where j in 1 - KW:H",
        "d_x(j) +=! padded_y(j - k) * w(k) where j in 0:H, k in 0:KW",
    ]
    assert body(TEXTS.strided.gradient(wrt=("x",))) == [
        "padded_y(h) = h % 3 == 0 && 0 <= h / 3 && h / 3 < (H - K) / 3 + 1 ? d_y(h / 3) : 0.0 where h in 1 - K:H",
        "d_x(h) +=! padded_y(h - k) * w(k) where h in 0:H, k in 0:K",
    ]
    assert body(
        TEXTS.weighted.gradient(wrt=("x",))
    ) == [  # z is out of bounds where y is, so the sum has the condition
        "d_x(j) +=! 0 <= j - k && j - k < H - K + 1 ? d_y(j - k) * z(j - k) * w(k) : 0.0 where j in 0:H, k in 0:K"
    ]


@pytest.mark.parametrize(
    ("statement", "shape", "inverse"),
    [
        (
            "y(c,h,w) = x(c,h/2,w/2) where h in 0:2*H, w in 0:2*W",
            (2, 3, 4),
            "d_y(c, h_2 + 2 * h, w_2 + 2 * w)",
        ),
        (
            "y(c,h,w) = x(c,h/2,w/3) where h in 0:2*H-1, w in 0:3*W-1, c in 0:C",
            (2, 3, 4),
            "w_2 + 3 * w < 3 * W - 1",
        ),
        (
            "y(c,h,w) = x(c,(h+1)/2,w) where h in 0:2*H-1, w in 0:W, c in 0:C",
            (2, 3, 4),
            "d_y(c, h_2 + 2 * h - 1, w)",
        ),
        ("y(c,h) +=! x(c,h/2,w/2) where h in 0:2*H, w in 0:2*W", (2, 3, 4), "h_2 in 0:2, w_2 in 0:2"),
        ("y(h,w) = x(h/2+w/2,h,w) where h in 0:H, w in 0:W", (9, 4, 5), "h_2 / 2 + w / 2 == h"),
        ("y(c,h,w) = x(c*2+h%2,h/2,w) where h in 0:2*H, w in 0:W, c in 0:C/2", (6, 2, 3), "h_2 in 0:2"),
        ("y(c,h,w) = x(c,(h/2)/2,w) where h in 0:4*H-3, w in 0:W, c in 0:C", (2, 3, 4), "h_2 / 2 / 2 == h"),
        ("y(c,e) = x(c,e/W,e%W) where e in 0:H*W", (2, 3, 4), "d_y(c, e * W + e_2)"),
        ("y(c,e) = x(c,e%H,(e/H)%W) where e in 0:H*W", (2, 3, 4), "d_y(c, e_3 * H + e)"),
        ("y(c,h) = x(c,h%2,h/2) where h in 0:2*W-1, c in 0:C", (2, 2, 4), "d_y(c, 2 * h_2 + h)"),
        (
            "y(c,t,d) = x(c,2*t+d/W,d%W) where t in 0:2, d in 0:2*W",
            (2, 4, 3),
            "d_y(c, t_2, (t - 2 * t_2) * W + d)",
        ),
        ("y(c,t,d) = x(c,t-d/W,d%W) where t in 1:H, d in 0:2*W", (2, 4, 3), "(d_2 * W + d) / W"),
        ("y(c,h,w) = x(c,(h+2)%H,w) where h in 0:H", (2, 5, 3), "(H + 1) / max(H, 1) + 1"),
        ("y(c,h,w) = x(c,(2*H-1-h)%H,w) where h in 0:2*H", (2, 5, 3), "d_y(c, "),
        ("y(c,h,w) +=! x(c,(h+2*k)%H,w) where h in 0:H, k in 0:4", (2, 5, 3), "k in 0:4"),
        ("y(c,h,w) +=! x(c,h%2+1,w) where h in 0:H", (2, 5, 3), "d_y(c, "),
        ("y(c,h,w) = x(c,(h+2)%H,w) where h in 0:H+1", (2, 5, 3), "(H + 2) / max(H, 1) + 1"),
        ("y(c,h,w) = x(c,(3-h)%H,w) where h in 2:H+2", (2, 5, 3), "d_y(c, 1 - h_2 * H - h, w)"),
        (
            "y(c,h,w) +=! x(c,(2-h+k)%H,w) where h in 1:H+1, k in 0:4",
            (2, 5, 3),
            "d_y(c, (k - h + 1) % H, w) where",
        ),
        ("y(c,h,w) +=! x(c,(h+k)%2,w) where h in 0:2, k in 0:W", (2, 2, 3), "(h - k) % 2"),
        ("y(c,h,w) +=! x(c,(h+W*k)%H,w) where h in 0:2, k in 0:W", (2, 5, 3), "% H == "),
        ("y(c,h,w) +=! x(c,(h+k)/8,w) where h in 0:2, k in 0:7", (2, 5, 3), "/ 8 == "),
        ("y(h,w) = x(h/W,0,w) where h in 0:2", (5, 5, 3), "/ W == "),
        ("y(c,h,w) = x(c,3*h/2,w) where h in 0:2*H/3", (2, 5, 3), "h_2 in 0:2"),
        ("y(c,h,w) = x(c,(2*h+1)%H,w) where h in 0:H", (2, 5, 3), "h_2 in "),
        (
            "y(c,h,w) +=! (h-k)%2 == 0 && (h-k)/2 >= 0 && (h-k)/2 < H ? x(c,(h-k)/2,w) : 0.0 "
            "where h in 0:2*H+2, k in 0:3",
            (2, 4, 3),
            "d_y(c, 2 * h + k, w) where",
        ),
        (
            "y(c,h,w) +=! (h-k+1)%2 == 0 && (h-k+1)/2 >= 0 && (h-k+1)/2 < H ? x(c,(h-k+1)/2,w) : 0.0 "
            "where h in 0:2*H, k in 0:3",
            (2, 4, 3),
            "padded_y(c, 2 * h + k - 1, w) where",
        ),
        (
            "y(c,h,w) +=! 2*h+k >= 1 && 2*h+k < H+1 ? x(c,2*h+k-1,w) : 0.0 where h in 0:(H-1)/2+1, k in 0:3",
            (2, 5, 3),
            "padded_y(c, h - k + 1, w) where",
        ),
        (
            "y(c,s,d,w) = x(c,s*(H/2)+d,w) where s in 0:2, d in 0:H/2",
            (2, 5, 3),
            "d_y(c, s / (H / 2), s % (H / 2), w)",
        ),
        ("y(c,s,d,w) = x(c,d+(H/2)*s+1,w) where s in 0:2, d in 0:H/2-1", (2, 7, 3), "d_y(c, "),
    ],
)
def test_quotients_are_inverted(statement, shape, inverse):
    f = tc.define(f"def f(double(C,H,W) x) -> (y) {{ {statement} }}").f
    x = np.random.default_rng(0).random(shape)
    gradient, d_y = f.gradient(), np.random.default_rng(1).random(f(x).shape)
    assert inverse in str(gradient)
    given = {"x": x, "d_y": d_y}
    want = [(f(row.reshape(shape)) * d_y).sum() for row in np.eye(x.size)]
    np.testing.assert_allclose(
        gradient(*(given[name] for name in gradient.parameters)).reshape(-1), want, atol=1e-12
    )


_QUOTIENTS = (
    "{v}/{d}", "{v}%{d}", "({v}+{c})%{d}", "({v}+{c})/{d}", "({v}+{w})%{d}", "({v}-{w})/2", "{v}/{d}+{w}",
    "({v}*2+{w})%{d}", "(3*{v}+{c})/2", "({d}+{c}-{v})%{d}", "{v}%{d}+{w}/{d}", "({v}/2)%{d}", "{v}*(E/2)+{w}",
    "({v}-{c})%{d}",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_random_quotients_are_inverted(seed):
    random = Random(seed)
    v, w, d, c = random.choice("ijk"), random.choice("ijk"), random.choice("DE23"), random.randrange(4)
    rows, columns = (random.choice(_QUOTIENTS).format(v=v, w=w, d=d, c=c) for _ in range(2))
    if seed % 3 == 0:
        rows, columns = f"{v}/{d}", f"{v}%{d}"
    extents = [random.choice(["D", "E", "3", "2*D", "D*E", "E/2+1"]) for _ in range(3)]
    ranges = ", ".join(f"{index} in 0:{extent}" for index, extent in zip("ijk", extents, strict=True))
    kept = f"{rows} >= 0 && {rows} < N && {columns} >= 0 && {columns} < M"
    left = random.choice(["i", "i,j", "i,j,k"])
    text = f"y({left}) +=! {kept} ? x({rows},{columns}) * s(0,0) : 0.0 where {ranges}"
    f = tc.define(f"def f(double(N,M) x, double(D,E) s) -> (y) {{ {text} }}").f
    gradient = f.gradient(["x"])
    for sizes in ((3, 4, 3, 4), (1, 2, 5, 2), (4, 3, 2, 6)):
        (n, m), scale = sizes[2:], np.ones(sizes[:2])
        d_y = np.random.default_rng(seed).random(f(np.zeros((n, m)), scale).shape)
        want = [(f(row.reshape(n, m), scale) * d_y).sum() for row in np.eye(n * m)]
        given = {"x": np.zeros((n, m)), "s": scale, "d_y": d_y}
        got = gradient(*(given[name] for name in gradient.parameters))
        np.testing.assert_allclose(got.reshape(-1), want, atol=1e-12, err_msg=f"{text}\n{gradient}")


@pytest.mark.parametrize("index", ["3*h%2", "3*h%D", "(2*h+1)%D"])
def test_remainders_of_multiples_of_an_index_without_values(index):
    f = tc.define(f"def f(double(D) x, double(N) s) -> (y) {{ y(h) = x({index}) where h in 0:N }}").f
    gradient = f.gradient(["x"])
    assert "h_2 in " in str(gradient)
    for size, count in ((2, 0), (2, 5), (3, 1)):
        s, d_y = np.zeros(count), np.arange(1.0, count + 1)
        want = [(f(row, s) * d_y).sum() for row in np.eye(size)]
        given = {"x": np.zeros(size), "s": s, "d_y": d_y}
        assert gradient(*(given[name] for name in gradient.parameters)).tolist() == want


def test_a_copy_for_exact_quotients_may_have_no_elements():
    f = tc.define(
        "def f(double(H) x, double(K) w) -> (y) { y(h) +=! (h-k)%3 == 0 && h-k >= 0 && (h-k)/3 < H ? "
        "x((h-k)/3) * w(k) : 0.0 where h in 0:3*H+1 }"
    ).f
    gradient = f.gradient()
    assert "padded_y" in str(gradient)
    for h, k in ((0, 1), (0, 2), (1, 2), (3, 4)):
        x, w = np.arange(1.0, h + 1), np.arange(1.0, k + 1)
        d_y = np.arange(f(x, w).size) + 1.0
        found = gradient(x, w, d_y)
        for name, own, others in (
            ("d_x", x, lambda row, w=w: (row, w)),
            ("d_w", w, lambda row, x=x: (x, row)),
        ):
            want = [(f(*others(row)) * d_y).sum() for row in np.eye(own.size)]
            np.testing.assert_allclose(found[name], want)


@pytest.mark.parametrize("divisor", [-3, 1, 3])
def test_a_divisor_of_any_sign_is_not_inverted(divisor):
    f = tc.define("def f(int S, double(N) x) -> (y) { y(i) = x(i % S + 3) where i in 0:N }").f
    gradient = f.gradient()
    assert "% S" in str(gradient)
    want = [f(divisor, row).sum() for row in np.eye(6)]
    assert gradient(divisor, np.zeros(6), np.ones(6)).tolist() == want


def test_the_reciprocal_of_a_divisor_of_several_values_is_computed_once():
    lib = tc.define("""
def rows(float(N,K) x, float(N) s) -> (y) { y(n,k) = x(n,k) / s(n) }
def each(float(K) x, float(K) s) -> (y) { y(k) = x(k) / s(k) }
""")
    assert body(lib.rows.gradient()) == [
        "d_x(n, k) = d_y(n, k) * (1.0 / s(n))",
        "d_s(n) +=! -(d_y(n, k) * (x(n, k) * (1.0 / s(n)) * (1.0 / s(n))))",
    ]
    assert body(lib.each.gradient()) == [
        "d_x(k) = d_y(k) / s(k)",
        "d_s(k) = -(d_y(k) * (x(k) / s(k) / s(k)))",
    ]


def test_what_has_one_reader_is_no_sum():
    *_, last = body(TEXTS.pool.gradient())
    assert last == "d_x(h) = h / 2 < H / 2 && h % 2 == first_y(h / 2) ? d_y(h / 2) : 0.0 where h in 0:H"
    assert "?" not in str(TEXTS.shifted.gradient())  # the guard holds for all sizes


def test_saved_outputs_are_not_computed_again():
    (x, W, b), d = numbers([(3, 4), (2, 4), (2,)], np.float32), np.ones((3, 2), np.float32)
    again, saved = TEXTS.layer.gradient(), TEXTS.layer.gradient(saved=("y",))
    assert body(saved)[0] == "d_y_2(i, n) = y(i, n) > 0.0 ? d_y(i, n) : 0.0"
    y = interpreted(TEXTS.layer, x, W, b)["y"]
    for one, other in zip(
        interpreted(again, x, W, b, d).values(), interpreted(saved, x, W, b, y, d).values(), strict=True
    ):
        np.testing.assert_array_equal(one, other)


NAMED = tc.define("""
def softmax(float(N,D) x) -> (y) {
  m(n) max=! x(n,d)
  s(n) +=! exp(x(n,d) - m(n))
  y(n,d) = exp(x(n,d) - m(n)) / s(n)
}
def scores(float(Q,D) x, float(K,D) y) -> (z) { z(q,k) +=! tanh(x(q,d) + y(k,d)) }
def guarded(float(N) x) -> (y) { y(i) = (i > 0 ? exp(x(i - 1)) : 1) * exp(x(i)) * exp(x(i)) where i in 0:N }
def plain(float(N,D) x) -> (y) { y(n,d) = tanh(x(n,d)) }
def turned(float(N,N) x) -> (y) { y(j,i) = exp(x(i,j)) * x(j,i) }
def nested(float(N) x, float(N) z) -> (y) { y(i) = z(i) * sin(exp(x(i))) }
""")


@pytest.mark.parametrize(
    ("name", "statements"),
    [
        ("softmax", ["exp_s(n, d) = exp(x(n, d) - m(n))"]),
        ("scores", []),  # a tensor of its values would have more elements than those it reads
        ("guarded", ["exp_y(i) = exp(x(i))"]),  # under the condition it is in bounds, and stays
        ("plain", ["y(n, d) = tanh(x(n, d))"]),
        ("turned", ["exp_y(j, i) = exp(x(i, j))"]),
        ("nested", ["exp_y(i) = exp(x(i))", "sin_y(i) = sin(exp_y(i))"]),
    ],
)
def test_functions_are_computed_once(name, statements):
    found = re.findall(r"^  (\w+\(.*\) = (?:exp|tanh|sin)\(.*\))$", str(NAMED[name].gradient()), re.MULTILINE)
    assert found == statements


def test_called_functions_and_second_derivatives():
    given = numbers([(3, 4), (4, 4), (4,)], np.float32)
    assert "layer" not in str(TEXTS.twice.gradient()).partition("{")[2]
    found = interpreted(TEXTS.twice.gradient(wrt=("x", "W")), *given, np.ones((3, 4), np.float32))
    inner = interpreted(TEXTS.layer, *given)["y"]
    outer = interpreted(TEXTS.layer.gradient(), inner, *given[1:], np.ones((3, 4), np.float32))
    chained = interpreted(TEXTS.layer.gradient(), *given, outer["d_x"])
    np.testing.assert_allclose(found["d_x"], chained["d_x"], rtol=1e-5)
    np.testing.assert_allclose(found["d_W"], chained["d_W"] + outer["d_W"], rtol=1e-4, atol=1e-6)
    second = TEXTS.shifted.gradient().gradient(wrt=("d_y",))
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(interpreted(second, x, x, np.ones(3, np.float32))["d_d_y"], 2 * x)


def test_the_first_of_equal_candidates_wins():
    x, d = np.array([2, 2, 1, 3, 5, 5], np.float32), np.array([1, 10, 100], np.float32)
    np.testing.assert_array_equal(interpreted(TEXTS.pool.gradient(), x, d)["d_x"], [1, 0, 0, 10, 100, 0])


@pytest.mark.parametrize(
    ("x", "wanted"),
    [([2, 3, 4], [12, 8, 6]), ([2, 0, 4], [0, 8, 0]), ([0, 0, 4], [0, 0, 0])],
)
def test_products_with_zeros(x, wanted):
    found = interpreted(TEXTS.product.gradient(), np.array(x, np.float32), np.float32(1))
    np.testing.assert_array_equal(found["d_x"], wanted)


def test_gradients_have_the_types_of_their_parameters():
    checked = TEXTS.half.gradient()._analysed.function
    assert {name: each.type for name, each in checked.outputs.items()} == {
        "d_x": "float16",
        "d_w": "float64",
        "d_v": "float32",
    }
    assert checked.parameters["d_y"].type == "float64"


def test_a_sum_over_types_has_that_of_its_parameter():
    gradient = tc.define("def f(float(N) x, double(N) z) -> (y) { y(i) = x(i) y(i) += z(i) }").f.gradient()
    found = interpreted(gradient, np.ones(3, np.float32), np.ones(3), np.full(3, 2.0))
    assert {name: each.dtype for name, each in found.items()} == {"d_x": np.float32, "d_z": np.float64}
    np.testing.assert_array_equal(found["d_x"], [2, 2, 2])


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("y = 0.0 y max= z(i)", [0, 0, 1]),
        ("y = 20 y max= z(i)", [0, 0, 0]),
        ("y = 2.0 y *= z(i)", [36, 9, 2]),
        ("y = 2 y *= z(i)", [36, 9, 2]),
        ("y = x y min= z(i)", [1, 0, 0]),
        ("y = x y max= z(i)", [0, 0, 1]),
    ],
)
def test_what_a_reduction_starts_from_may_have_another_type(body, wanted):
    gradient = tc.define(f"def f(float x, double(N) z) -> (y) {{ {body} }}").f.gradient(("z",))
    found = interpreted(gradient, np.float32(3), np.array([0.5, 2.0, 9.0]), np.float64(1))
    np.testing.assert_array_equal(found["d_z"] if isinstance(found, dict) else found, wanted)


def test_names_that_are_taken():
    taken = "def f(float(N) y, float(N) d_y, float(N) d_z, float(N) y_in, int s) -> (y, z) { y(i) = s * y(i) z(i) = "
    gradient = tc.define(taken + "y(i) * y(i) * d_y(i) * y_in(i) }").f.gradient(saved=("z",))
    assert "y_in, int s, float(N) d_y_2, float(N) d_z_2) -> (d_y_in, d_d_y, d_d_z, d_y_in_2) {" in str(
        gradient
    )
    y, d_y, z = (np.array([each], np.float32) for each in (2, 3, 5))
    found = gradient.compile(schedule=None)(y, d_y, z, z, 7, 0 * z, z / 5)
    assert [float(each[0]) for each in found.values()] == [7 * 2 * 14 * 3 * 5, 14 * 14 * 5, 0, 14 * 14 * 3]


def test_maxima_are_compared_with_what_is_computed_again():
    """The function adds in parts, and its gradient in order: sums that differ in their last bits are no ties."""
    text = "def f(float(N,K) x, float(N) z) -> (y) { y(n) +=! x(n,k) * x(n,k) y(n) max= z(n) }"
    split = tc.define(text).f.compile(split_reductions={"y": 3}, schedule=None)
    x, z = np.random.default_rng(0).random((50, 64), np.float32), np.zeros(50, np.float32)
    gradient = split.gradient(saved=("y",)).compile(schedule=None)
    given = {"x": x, "z": z, "y": split(x, z), "d_y": z + 1}
    assert not gradient(**{name: given[name] for name in gradient.parameters})["d_z"].any()


def test_third_derivatives():
    third = tc.define("def f(float(N) x) -> (y) { y(i) = x(i) * x(i) * x(i) }").f
    for _ in range(3):
        third = third.gradient(wrt=("x",))
    x, one = np.array([2], np.float32), np.ones(1, np.float32)
    assert third(x, one, one, one) == [6]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("y(i) = tanh(z(i))", [1 - np.tanh(1) ** 2, 2 - 2 * np.tanh(2) ** 2]),
        ("y(i) = x(i) y(i) += z(i) * z(i)", [2, 8]),
        ("y(i) = x(i) y(i) *= z(i)", [1, 4]),
        ("y(i) = x(i) y(i) max= z(i) * 2", [2, 4]),
        ("y(i) *=! z(i) * z(k)", [22, 25]),
        ("y(i) = 2 where i in 0:N", [0, 0]),
    ],
)
def test_values_that_are_stored_wider(body, wanted):
    text = f"def f(double(N) x, float(N) z, bfloat16(N) w) -> (double y) {{ {body} }}"
    given = (np.array([1, 2], dtype) for dtype in ("f8", "f4", "bfloat16", "f8"))
    found = tc.define(text).f.gradient().compile(schedule=None)(*given)
    assert {name: value.dtype.name for name, value in found.items()} == {
        "d_x": "float64", "d_z": "float32", "d_w": "bfloat16",
    }  # fmt: skip
    np.testing.assert_allclose(found["d_z"], wanted, rtol=1e-6)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
def test_a_power_at_zero(exponent):
    texts = {"p": "(float(N) x, float p) -> (z)", exponent: "(float(N) x) -> (z)"}
    x, d = np.array([0, 1, 2], np.float32), np.ones(3, np.float32)
    with np.errstate(divide="ignore"):
        want = exponent * x.astype(np.float64) ** (exponent - 1)
    for written, head in texts.items():
        f = tc.define(f"def f{head} {{ z(i) = pow(x(i), {written}) }}").f
        given = (x, exponent, d) if written == "p" else (x, d)
        np.testing.assert_allclose(f.gradient(("x",))(*given), want, rtol=1e-6)
    both = tc.define(f"def f{texts['p']} {{ z(i) = pow(x(i), p) }}").f.gradient()(x, exponent, d)
    np.testing.assert_allclose(both["d_p"], np.log(2) * 2**exponent, rtol=1e-6)


def test_a_power_that_is_no_number_has_no_slope():
    f = tc.define("def f(float(N) x, float(N) p) -> (z) { z(i) = pow(x(i), p(i)) }").f
    x, p = np.array([-2, -2], np.float32), np.array([0.5, 3], np.float32)
    np.testing.assert_allclose(f.gradient(("x",))(x, p, np.ones(2, np.float32)), [np.nan, 12], rtol=1e-6)


def test_integers_take_part_and_have_none():
    gradient = TEXTS.counts.gradient()
    assert "(float(N) d_w)" not in str(gradient) and "d_n" not in str(gradient)
    with pytest.raises(tc.TcError, match="gradient: 'x' is of integers, which have no gradient") as caught:
        TEXTS.counts.gradient(wrt=("x",))
    assert caught.value.phase == "check"


@pytest.mark.parametrize("wrt", ["w", "", (), [], 1.5, [["w"]], iter("w")])
def test_no_list_of_names(wrt):
    with pytest.raises(tc.TcError, match="names no parameters"):
        TEXTS.counts.gradient(wrt=wrt)


@pytest.mark.parametrize("saved", ["o", None, 1.5, [["o"]]])
def test_no_list_of_outputs(saved):
    with pytest.raises(tc.TcError, match="are no names"):
        TEXTS.counts.gradient(saved=saved)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("conv", {"wrt": ("z",)}, "'conv' has no parameter 'z'"),
        ("conv", {"saved": ("z",)}, "'conv' has no output 'z'"),
        ("gemm", {}, "'C' is read before it is written\n.*\n  because: a call overwrites the values"),
    ],
)
def test_refusals(name, options, message):
    with pytest.raises(tc.TcError, match=message):
        TEXTS[name].gradient(**options)


def test_compiled_with_the_default_schedule():
    given = numbers([(9,), (3,)], np.float32)
    gradient = TEXTS.conv.gradient()
    d = np.linspace(-1, 1, 7, dtype=np.float32)
    wanted = interpreted(gradient, *given, d)
    for name, value in gradient(*given, d).items():
        np.testing.assert_allclose(value, wanted[name], rtol=1e-5, atol=1e-6)
    with pytest.raises(
        tc.TcError, match=r"'d_y' with 6 in dimension 0\n.*declared as H - KW \+ 1, which is 7"
    ):
        gradient(*given, d[:6])


def test_a_power_by_its_exponent():
    function = tc.define("def f(float p, float a) -> (y) { y = pow(a, p) }").f
    gradient = function.gradient(("p",))
    for p in (0.0, 1e-6, 2.0, -1.5):
        for a in (2.0, 0.5):
            assert gradient(p, a, np.float32(1)) == pytest.approx(a**p * np.log(a), rel=1e-5)
    assert [float(function(0.0, a)) for a in (2.0, 0.0, -3.0, np.inf, -np.inf, np.nan)] == [1.0] * 6


def test_gradients_of_functions_of_functions_of_numbers():
    nested = "def f(float(N) x, float(N) z) -> (y) { y(i) = pow(pow(x(i), z(i)), z(i)) }"
    with pytest.raises(tc.TcError, match=r"the gradient of 'f' has .* characters") as caught:
        tc.define(nested).f.gradient()
    assert "fix: statements of their own for the arguments of functions" in str(caught.value)
    apart = "def f(float(N) x, float(N) z) -> (y) { t(i) = pow(x(i), z(i)) y(i) = pow(t(i), z(i)) }"
    x, z, d_y = (np.full(3, value, np.float32) for value in (2.0, 0.5, 1.0))
    found = tc.define(apart).f.gradient()(x, z, d_y)
    np.testing.assert_allclose(found["d_x"], 0.25 * 2**-0.75, rtol=1e-5)
    np.testing.assert_allclose(found["d_z"], 2**0.25 * np.log(2), rtol=1e-5)
