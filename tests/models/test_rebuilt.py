"""A child-sum TreeLSTM written by a user, under other names and with one gate more, passes as ours do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cortex import ra
from tests.models import equations
from tests.models.structures import ANY_TREE, Drawn, vectors

WIDE, NARROW = 4, 3


def leaky_model() -> ra.Model:
    N, K = ra.N, ra.K
    vec = ra.node_input("vec", (NARROW,))
    state_ph, memory_ph = ra.placeholder((N, WIDE)), ra.placeholder((N, WIDE))
    total = ra.compute((N, WIDE), lambda v, a: ra.sum_children(v, lambda child: state_ph[child, a]))

    def weights(name):
        return (
            ra.input_tensor(f"A_{name}", (WIDE, NARROW)),
            ra.input_tensor(f"B_{name}", (WIDE, WIDE)),
            ra.input_tensor(f"bias_{name}", (WIDE,)),
        )

    def gate(name, act):
        A, B, bias = weights(name)
        return ra.compute(
            (N, WIDE),
            lambda v, a: act(
                ra.sum(NARROW, lambda e: A[a, e] * vec[v, e])
                + ra.sum(WIDE, lambda e: B[a, e] * total[v, e])
                + bias[a]
            ),
        )

    entry, leak, new, out = (
        gate("in", ra.sigmoid),
        gate("leak", ra.sigmoid),
        gate("new", ra.tanh),
        gate("out", ra.sigmoid),
    )
    A, B, bias = weights("keep")
    seen = ra.compute((N, WIDE), lambda v, a: ra.sum(NARROW, lambda e: A[a, e] * vec[v, e]) + bias[a])
    keep = ra.compute(
        (N, K, WIDE),
        lambda v, c, a: ra.sigmoid(seen[v, a] + ra.sum(WIDE, lambda e: B[a, e] * state_ph[c, e])),
    )
    memory = ra.compute(
        (N, WIDE),
        lambda v, a: (
            entry[v, a] * new[v, a]
            + leak[v, a]
            + ra.sum_children(v, lambda c: keep[v, c, a] * memory_ph[c, a])
        ),
    )
    state = ra.compute((N, WIDE), lambda v, a: out[v, a] * ra.tanh(memory[v, a]))
    return ra.recursion_op({"state": (state_ph, state), "memory": (memory_ph, memory)})


@given(ANY_TREE, st.integers(0, 2**16))
def test_the_rebuilt_model_computes_its_equations(children, seed):
    model = leaky_model()
    params = model.init_params(seed)
    drawn = Drawn(children, {"vec": vectors(children, NARROW, seed)})
    got = ra.evaluate(model, params, drawn.root)
    wide = {name: array.astype(np.float64) for name, array in params.items()}
    for name, want in equations.leaky_tree_lstm(wide, children, drawn.payload).items():
        np.testing.assert_allclose(got[name], want, rtol=1e-12, atol=1e-13)
