"""Gradients of cumulative sums: running sums, where each element would sum all that come after it."""

import numpy as np
import pytest

from ragged import tc

RUNNING = [
    "y(n,i) +=! x(n,j) where j in 0:i+1, i in 0:D",
    "y(n,i) +=! x(n,j) where j in 0:i, i in 0:D",
    "y(n,i) +=! x(n,j) where j in i:D, i in 0:D",
    "y(n,i) +=! j <= i ? x(n,j) : 0.0 where i in 0:D",
    "y(n,i) +=! i > j ? x(n,j) : 0.0 where i in 0:D",
    "y(n,i) +=! j >= i - 1 ? x(n,j) : 0.0 where i in 0:D",
    "y(n,i) +=! j < i + 3 ? x(n,j) : 0.0 where i in 0:D",
    "y(n,i) +=! j <= i ? x(n,j) : 0.0 where i in 0:D+3",
    "y(n,i) +=! D - i > j ? x(n,j) : 0.0 where i in 2:D+2",
    "y(n,i) +=! x(n,j) * w(i) where j in 0:i+1, i in 0:D",
    "y(i,d) +=! x(j,d) where j in 0:i+1, i in 0:N",
    "z(n,i) +=! x(n,j) where j in 0:i+1, i in 0:D y(n,i) +=! z(n,j) where j in 0:i+1, i in 0:D",
]
OTHERS = [
    "y(n,i) +=! j < i ? x(n,j) * w(i-1) : 0.0 where i in 0:D",  # w has no element before the first one
    "y(n,i) +=! j <= i ? x(n,j) * w(j) : 0.0 where i in 0:D",
    "y(n,i) +=! j <= 2 * i ? x(n,j) : 0.0 where i in 0:D",
    "y(n,i) +=! j <= i && i < j + 2 ? x(n,j) : 0.0 where i in 0:D",
    "y(n,i) +=! i < 2 ? x(n,j) : 0.0 where i in 0:D",
]


@pytest.mark.parametrize("options", [{"schedule": None}, {"threads": 1}, {"threads": 2}])
@pytest.mark.parametrize("statements", [*RUNNING, *OTHERS])
def test_gradients_of_sums_from_a_place_on(statements, options):
    f = tc.define(f"def f(double(N,D) x, double(D) w) -> (y) {{ {statements} }}").f
    gradient = f.gradient(["x"])
    assert ("running_sum" in str(gradient)) is (statements in RUNNING)
    function = gradient.compile(**options)
    for n, d in ((3, 7), (1, 1), (2, 5), (4, 20), (2, 0)):
        w = np.arange(1.0, d + 1)
        d_y = np.random.default_rng(d).random(f(np.zeros((n, d)), w).shape)
        want = [(f(row.reshape(n, d), w) * d_y).sum() for row in np.eye(n * d)]
        given = {"x": np.zeros((n, d)), "w": w, "d_y": d_y}
        got = function(*(given[name] for name in gradient.parameters))
        np.testing.assert_allclose(got.reshape(-1), want, atol=1e-12)
