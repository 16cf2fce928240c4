"""Texts that were checked before: their functions come from the cache, and do the same."""

import numpy as np
import pytest

import ragged
from ragged import tc
from ragged.tc import library

TEXT = """
def blur(float(H,W) I) -> (O) { O(h,w) = I(h,w) + I(h,w + 1) }
def pooled(float(N,H,W) I, int32(N) L) -> (O) {
  O(n,h,w) max=! exp(I(n,2 * h + p,w)) where p in 0:2
}
def ends(int32(B) L, float(B,L(B)) x) -> (y) { y(b,t) = x(b,t) * x(b,t) where t in 0:L(b) }
"""


@pytest.fixture
def checked_before(cache_dir, monkeypatch):
    """Return the functions as they were checked; from here on nothing is parsed."""
    found = tc.define(TEXT, name="mine")
    monkeypatch.setattr(library, "parse", lambda *_: pytest.fail("the text is parsed again"))
    return found


def test_functions_from_the_cache_do_the_same(checked_before):
    kept = tc.define(TEXT, name="mine")
    assert kept.functions == checked_before.functions
    for name in kept.functions:
        for stage in ("tc", "ranges", "checks"):
            assert kept[name].show(stage) == checked_before[name].show(stage)
    image = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(kept.blur(image), image[:, :-1] + image[:, 1:])
    assert str(kept.blur.gradient()) == str(checked_before.blur.gradient())
    with pytest.raises(tc.TcError, match="mine:2"):
        kept.blur(np.zeros((3, 1), np.float32))
    rows = ragged.array([np.ones(2, np.float32), np.full(3, 2, np.float32)])
    assert kept.ends(np.array([2, 3], np.int32), rows).to_list() == [[1, 1], [4, 4, 4]]


def test_another_name_or_text_is_checked(checked_before):
    for text, name in ((TEXT, "other"), (f"{TEXT}\n", "mine")):
        with pytest.raises(pytest.fail.Exception, match="parsed again"):
            tc.define(text, name=name)


def test_a_text_that_is_refused_is_refused_again(cache_dir):
    for _ in range(2):
        with pytest.raises(tc.TcError, match="'y'"):
            tc.define("def f(float(N) x) -> (z) { z(i) = y(i) }")


def test_deep_expressions_are_checked_each_time(cache_dir):
    text = f"def f(float(N) x) -> (y) {{ y(i) = {' + '.join(['x(i)'] * 90)} }}"
    for _ in range(2):
        np.testing.assert_allclose(tc.define(text).f(np.ones(3, np.float32)), [90.0] * 3)
