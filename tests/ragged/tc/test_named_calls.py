"""Elementwise functions that several statements call are computed once, with the same bits."""

import re

import numpy as np
import pytest

from ragged import tc
from ragged.tc.compiled import lower_analysed
from ragged.tc.named_calls import share_calls

LIB = tc.define("""
def softmax(float(N,D) x) -> (y) {
  m(n) max=! x(n,d)
  s(n) +=! exp(x(n,d) - m(n))
  y(n,d) = exp(x(n,d) - m(n)) / s(n)
}
def written(float(N,D) x) -> (y) {
  m(n) max=! x(n,d)
  e(n,d) = exp(x(n,d) - m(n))
  s(n) +=! e(n,d)
  y(n,d) = e(n,d) / s(n)
}
def nested(float(N) x) -> (y, z) {
  y(i) = 2 * sin(exp(x(i)))
  z(i) = cos(exp(x(i))) + sin(exp(x(i)))
}
def turned(float(N,N) x) -> (y, z) {
  y(i) +=! exp(x(i,j))
  z(j) +=! exp(x(i,j))
}
def ranges(float(N) x) -> (y, z) {
  y(i) = 2 * exp(x(i)) where i in 0:N
  z(i) = 3 * exp(x(i)) where i in 1:N
}
def conditional(float(N) x) -> (y, z) {
  y(i) = 2 * (i > 0 ? exp(x(i - 1)) : 0) where i in 0:N
  z(i) = 3 * (i > 0 ? exp(x(i - 1)) : 0) where i in 0:N
}
def scaled(float16(N) x) -> (y, z) { y(i) = 2 * exp(x(i))  z(i) = 3 * exp(x(i)) }
""")


def functions(name):
    """Return the functions that the tensors of a function call, each as often as it is called."""
    program = str(lower_analysed(LIB[name]._analysed, {}, (), {}).schedule().lower())
    return sorted(re.findall(r"\b(exp|sin|cos)\(", program))


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("softmax", ["exp"]),
        ("nested", ["cos", "exp", "sin"]),
        ("ranges", ["exp", "exp"]),
        ("conditional", ["exp", "exp"]),
        ("scaled", ["exp"]),
    ],
)
def test_each_is_called_once(name, calls):
    assert functions(name) == calls


def test_the_bits_are_those_of_a_tensor_that_is_written():
    x = np.random.default_rng(0).standard_normal((7, 77), dtype=np.float32)
    for sizes in (None, {"N": 7, "D": 77}):
        found = [LIB[name].compile(sizes=sizes)(x).tobytes() for name in ("softmax", "written")]
        assert found[0] == found[1]
    wide = x[0].astype(np.float64)
    both = LIB.nested(x[0])
    np.testing.assert_allclose(both["y"], 2 * np.sin(np.exp(wide)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(both["z"], np.cos(np.exp(wide)) + np.sin(np.exp(wide)), rtol=1e-5, atol=1e-6)
    half = x[0].astype(np.float16)
    np.testing.assert_allclose(LIB.scaled(half)["z"], 3 * np.exp(half.astype(np.float64)), rtol=1e-5)


def test_what_nothing_shares_stays():
    function = LIB.turned._analysed.function
    assert share_calls(function) is function
