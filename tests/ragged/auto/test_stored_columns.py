"""Tiles that are stored by the columns of their rows: with something added, and of rows of several loops as one."""

import re

import numpy as np
import pytest

from ragged import tc
from ragged.machine import this_machine

PLAIN = """
def f(float(N,C,H,W) I, float(F,C,3,3) K) -> (O) {
  O(n,f,h,w) +=! I(n,c,h + p,w + q) * K(f,c,p,q)
}
"""
ADDED = """
def f(float(N,C,H,W) I, float(F,C,3,3) K, float(F) B) -> (O) {
  O(n,f,h,w) +=! I(n,c,h + p,w + q) * K(f,c,p,q)
  O(n,f,h,w)  = fmax(O(n,f,h,w) + B(f), 0)
}
"""
STORED = r"in vectorized\((\d+), [hw]\):\n(?: +\w+ = [^\n]+\n)* +O(?:_2)?\[[^\n]+ = O(?:_2)?_acc\["
"""A store of some rows of an accumulator, side by side in the result."""


@pytest.mark.parametrize(("text", "side"), [(PLAIN, 14), (PLAIN, 15), (PLAIN, 16), (ADDED, 14), (ADDED, 26)])
def test_columns_are_stored_at_once(text, side):
    lanes = this_machine().lanes(4)
    channels = 2 * lanes
    draw = np.random.default_rng(0)
    image = draw.standard_normal((2, channels, side, side), np.float32)
    taps = draw.standard_normal((channels, channels, 3, 3), np.float32)
    bias = [draw.standard_normal(channels, np.float32)] if text is ADDED else []
    f = tc.define(text).f
    got = f.compile(sizes=dict(N=2, C=channels, F=channels, H=side, W=side), threads=1)
    stored = re.findall(STORED, got.show("loops"))
    assert any(1 < int(rows) <= 12 for rows in stored)
    plain = f.compile(schedule=None)
    np.testing.assert_array_equal(got(image, taps, *bias), plain(image, taps, *bias))


@pytest.mark.parametrize("nothing", ["N", "C", "F"])
@pytest.mark.parametrize("threads", [1, 2])
def test_sizes_of_nothing(nothing, threads):
    sizes = {**dict(N=2, C=4, F=32, H=5, W=5), nothing: 0}
    f = tc.define(ADDED).f
    n, c, filters = sizes["N"], sizes["C"], sizes["F"]
    arrays = (
        np.ones((n, c, 5, 5), np.float32),
        np.ones((filters, c, 3, 3), np.float32),
        np.ones(filters, np.float32),
    )
    got = f.compile(sizes=sizes, threads=threads)(*arrays)
    np.testing.assert_array_equal(got, np.full((n, filters, 3, 3), 1 + 9 * c, np.float32))
