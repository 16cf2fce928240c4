"""Choices between two values in vectors: what one of them alone reads, for all lanes, is read before the loop."""

import numpy as np
import pytest

from ragged import tc

TEXTS = tc.define("""
def prelu(float(N,C,D) x, float(C) a) -> (y) { y(n,c,d) = x(n,c,d) > 0 ? x(n,c,d) : a(c) * x(n,c,d) }
def bounded(float(N,C,D) x, float(C) a, float(C) b) -> (y) { y(n,c,d) = x(n,c,d) > a(c) ? a(c) + b(c) : x(n,c,d) }
def marked(float(N,D) x, int32(N) k) -> (y) { y(n,d) = d == k(n) ? x(n,d) * 2 : 0.5 }
def less_one(float(N,D) x, int32(N) k) -> (y) { y(n,d) = x(n,d) - (k(n) + 2 == d + 3 ? 1.0 : 0.0) }
def added(float(N,D) x, float(D) z, int32(N) k) -> (y) { y(n,d) = d == k(n) ? x(n,d) + z(d) : z(d) }
""")


def data(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 5, 16, 37, 100])
def test_what_one_value_alone_reads_is_read_before_the_loop(size, threads):
    x, a, b = data(3, 4, size), data(4), data(4) + 1
    prelu, bounded = (TEXTS[name].compile(threads=threads) for name in ("prelu", "bounded"))
    for function in (prelu, bounded):
        stores = [line for line in function.show("loops").splitlines() if line.lstrip().startswith("y[")]
        assert stores and not any("a[c]" in line or "b[c]" in line for line in stores)
    slope, most = a[:, None], a[:, None]
    np.testing.assert_array_equal(prelu(x, a), np.where(x > 0, x, slope * x))
    np.testing.assert_array_equal(bounded(x, a, b), np.where(x > most, most + b[:, None], x))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 5, 16, 37, 100])
def test_a_choice_of_one_lane(size, threads):
    x, z, places = data(5, size), data(size), np.arange(size)
    k = np.array([0, size - 1, size // 2, size + 50, -3], np.int32)
    chosen = places == k[:, None]
    marked, less_one, added = (
        TEXTS[name].compile(threads=threads) for name in ("marked", "less_one", "added")
    )
    np.testing.assert_array_equal(marked(x, k), np.where(chosen, x * 2, np.float32(0.5)))
    np.testing.assert_array_equal(less_one(x, k), x - (places + 1 == k[:, None]))
    np.testing.assert_array_equal(added(x, z, k), np.where(chosen, x + z, z))
