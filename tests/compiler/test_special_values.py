"""NaN in maxima, and the sign of zeros: compiled code, interpreter and oracle say the same as NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import cortex
import ragged
from cortex import Node, ra
from tests.linearize.reference import linearize
from tests.support.agreement import interpreted

N = ra.N


@pytest.mark.parametrize("width", [1, 3, 8, 17, 40])
def test_a_maximum_of_nan_is_nan(width):
    x, h_ph = ra.node_input("x", (width,)), ra.placeholder((N, width))
    below = ra.compute((N, width), lambda n, i: ra.max_children(n, lambda k: h_ph[k, i]))
    h = ra.compute((N, width), lambda n, i: ra.relu(ra.maximum(x[n, i], below[n, i])))
    least = ra.compute((N,), lambda n: ra.minimum(ra.max(width, lambda j: x[n, j]), 0.0))
    model = ra.recursion_op({"h": (h_ph, h), "least": least})
    rng = np.random.default_rng(width)

    def node(children):
        row = rng.standard_normal(width).astype(np.float32)
        row[rng.random(width) < 0.3] = np.nan
        return Node(children, x=row)

    tree = node([node([node([]), node([])]), node([])])
    want = ra.evaluate(model, {}, tree)
    schedule = ra.Schedule(model)
    (steps,) = interpreted(schedule.lower(), linearize(schedule.plan(), [tree]), {})
    out = cortex.compile(model, {}, threads=2)(tree)
    assert (np.isnan(want["h"]).any() and not np.isnan(want["h"]).all()) or width == 1
    for name, expected in want.items():
        np.testing.assert_allclose(out.nodes(name)[0], expected, atol=1e-6)
        np.testing.assert_allclose(steps[name], expected, atol=1e-6)


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 33])
def test_pooling_has_the_same_bits_for_any_shape(length):
    rows = [np.random.default_rng(at).standard_normal(length).astype(np.float32) for at in range(3)]
    rows[1][length // 2] = np.nan
    flat, column = ragged.ops.max_pool(rows), ragged.ops.max_pool([row[:, None] for row in rows])
    assert flat.tobytes() == column.tobytes()
    np.testing.assert_array_equal(flat, [row.max() for row in rows])


def test_zeros_keep_their_sign_but_for_zeros_added_at_leaves():
    x, h_ph = ra.node_input("x"), ra.placeholder((N,))
    h = ra.compute((N,), lambda n: x[n] + ra.sum_children(n, lambda k: h_ph[k]))
    plus, minus = ra.compute((N,), lambda n: x[n] + 0.0), ra.compute((N,), lambda n: -x[n])
    model = ra.recursion_op({"h": (h_ph, h), "plus": plus, "minus": minus})
    tree = Node([Node(x=-0.0)], x=-0.0)
    out, oracle = cortex.compile(model, {})(tree), ra.evaluate(model, {}, tree)
    signs = {name: np.signbit(out.nodes(name)[0]).tolist() for name in out}
    assert signs == {"h": [True, False], "plus": [True, False], "minus": [False, False]}
    assert not any(np.signbit(oracle[name]).any() for name in oracle)
    batch, length = ragged.dim("batch"), ragged.dim("length")
    n = ragged.length_fn("n", over=batch)
    A = ragged.input_tensor("A", [(batch, ragged.size("B")), (length, n(batch))])
    f = ragged.compile(ragged.Schedule(ragged.compute("y", A.dims, lambda b, t: A[b, t] + 0.0)))
    assert not np.signbit(f(A=ragged.array([np.full(19, -0.0, np.float32)])).values).any()
