"""Dimensions that all statements index together are one in the kernel, and results are those of the text."""

import numpy as np
import pytest

from ragged import tc
from ragged.errors import DataError
from tests.support.with_torch import needs_torch, torch

NORM = """def norm(float(N,D,H,W) I, float(D) g) -> (O) {
  mean(n) +=! I(n,d,h,w)
  mean(n) = mean(n) / (D * H * W)
  O(n,d,h,w) = (I(n,d,h,w) - mean(n)) * g(d)
}"""


def only(text):
    library = tc.define(text)
    (name,) = library
    return library[name]


def shapes(text, **options):
    """Return the parameters and outputs in a kernel's text, with their dimensions."""
    function = only(text)
    lines = function.compile(**options).show("loops").splitlines()
    return [line.split(", align")[0] for line in lines if "payload(" in line or "output(" in line]


def array(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def normalized(x, g):
    wide = x.astype(np.float64)
    return (wide - wide.mean((1, 2, 3), keepdims=True)) * g[:, None, None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NORM, ["I: payload(float32[N, D, H_W]", "O: output(float32[N, D, H_W])"]),
        (
            "def copy(float(A,B,C,D) x) -> (y) { y(a,b,c,d) = 2 * x(a,b,c,d) }",
            ["x: payload(float32[A_B_C_D]", "y: output(float32[A_B_C_D])"],
        ),
        (
            "def product(float(M,N,K) x, float(K,L) w) -> (y) { y(m,n,l) +=! x(m,n,k) * w(k,l) }",
            ["x: payload(float32[M_N, K]", "y: output(float32[M_N, L])"],
        ),
        (
            "def sum(float(A,3,4) x) -> (y) { y(a) +=! x(a,i,j) }",
            ["x: payload(float32[A, 12]"],
        ),
        (
            "def transposed(float(A,B) x) -> (y) { y(b,a) = x(a,b) }",
            ["x: payload(float32[A, B]", "y: output(float32[B, A])"],
        ),
        (
            "def scaled(float(A,B) x) -> (y) { y(a,b) = x(a,b) * float(b) }",
            ["x: payload(float32[A, B]", "y: output(float32[A, B])"],
        ),
        (
            "def part(float(A,B) x) -> (y) { y(a,b) = x(a,b) where a in 0:A, b in 0:2 }",
            ["x: payload(float32[A, B]", "y: output(float32[A, 2])"],
        ),
        (
            "def outer(float(A,A) x, float(A,A,A) y) -> (z) { z(a,b,c) = y(a,b,c) + x(a,b) + x(b,c) }",
            ["x: payload(float32[A, A]", "y: payload(float32[A, A, A]", "z: output(float32[A, A, A])"],
        ),
    ],
)
def test_what_is_merged(text, expected):
    found = shapes(text)
    assert all(any(line.startswith(each) for line in found) for each in expected), found


def test_fixed_sizes_are_multiplied():
    assert "I: payload(float32[N, D, 30]" in shapes(NORM, sizes={"H": 5, "W": 6})
    assert "I: payload(float32[N, D, H_W]" in shapes(NORM, sizes={"H": 5})


def test_a_reduction_that_is_split_keeps_its_dimensions():
    text = "def sum(float(A,B) x) -> (y) { y +=! x(a,b) }"
    function = only(text)
    x = array(9, 7)
    assert "float32[A, B]" in function.compile(split_reductions={"y": 4}).show("loops")
    np.testing.assert_allclose(function.compile(split_reductions={"y": 4})(x), x.sum(), rtol=1e-5)


def test_a_message_about_an_index_names_the_dimensions_of_the_text():
    f = only("def pick(float(E) t, int32(A,B) i) -> (y) { y(a,b) = t(i(a,b)) }")
    i = np.zeros((2, 3), np.int32)
    i[1, 2] = 9
    with pytest.raises(DataError, match=r"i\[1, 2\]|i\(1, 2\)|1, 2"):
        f(array(4), i)


@pytest.mark.parametrize("options", [{}, {"sizes": {"H": 5, "W": 6}}, {"sizes": {"W": 6}}])
def test_results_have_the_declared_shape(options):
    function = only(NORM)
    compiled, x, g = function.compile(**options), array(2, 3, 5, 6), array(3)
    for _ in range(3):  # the second call takes the way of known shapes
        np.testing.assert_allclose(compiled(x, g), normalized(x, g), atol=1e-5)
    strided = np.ascontiguousarray(x.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2)
    np.testing.assert_allclose(compiled(strided, g), normalized(x, g), atol=1e-5)
    out = np.empty_like(x)
    assert compiled(x, g, out=out) is out
    np.testing.assert_allclose(out, normalized(x, g), atol=1e-5)


def test_bound_arrays_are_merged_too():
    function = only("def add(float(N,H,W) x, float(H,W) b) -> (y) { y(n,h,w) = x(n,h,w) + b(h,w) }")
    x, b = array(2, 3, 4), array(3, 4)
    bound = function.compile(parameters={"b": b})
    for _ in range(2):
        np.testing.assert_array_equal(bound(x), x + b)
    assert "b: param" in bound.show("loops") or "[12]" in bound.show("loops")


def test_sizes_that_no_array_has_are_passed():
    f = only("def fill(float(B) x, float(A,B) like) -> (y) { y(a,b) = like(a,b) / (A * B) }")
    x = array(3, 5)
    for _ in range(2):
        np.testing.assert_allclose(f(array(5), x), x / 15, rtol=1e-6)


def test_an_output_that_starts_from_what_it_is_given():
    f = only("def add(float(A,B) x) -> (y) { y(a,b) += x(a,b) }")
    x, out = array(3, 4), np.ones((3, 4), np.float32)
    assert f(x, out=out) is out
    np.testing.assert_array_equal(out, x + 1)


def test_empty_arrays():
    f = only("def both(float(A,B,C) x) -> (y, z) { y(a,b,c) = x(a,b,c)  z(a) +=! x(a,b,c) }")
    y, z = f(array(3, 0, 4)).values()
    assert y.shape == (3, 0, 4)
    np.testing.assert_array_equal(z, np.zeros(3))


@needs_torch
def test_tensors_of_pytorch():
    function = only(NORM)
    x, g = array(2, 3, 5, 6), array(3)
    for _ in range(2):
        y = function(torch.from_numpy(x), torch.from_numpy(g))
        assert isinstance(y, torch.Tensor)
        np.testing.assert_allclose(y.numpy(), normalized(x, g), atol=1e-5)
