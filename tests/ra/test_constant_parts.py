"""Parts of expressions that depend on parameters alone, and factors that leave a sum."""

import numpy as np
import pytest

import cortex
from cortex import ra
from cortex.ra.schedule import default_schedule
from ragged.ir.printer import to_text
from tests.support.agreement import error

H = 16
W, V, G = (ra.input_tensor(name, shape) for name, shape in (("W", (H, H)), ("V", (H, H)), ("g", (H,))))
TERMS = {
    "a product": lambda h, n, i: ra.sum(H, lambda j: W[i, j] * V[i, j] * h(n, j)),
    "a function": lambda h, n, i: ra.sum(H, lambda j: ra.exp(W[i, j]) * h(n, j)),
    "a sum": lambda h, n, i: h(n, i) / ra.sqrt(1.0 + ra.sum(H, lambda j: W[i, j] * W[i, j])),
    "weight norm": lambda h, n, i: ra.sum(
        H, lambda j: W[i, j] / ra.sqrt(ra.sum(H, lambda q: W[i, q] * W[i, q])) * h(n, j) * G[i]
    ),
    "under a guard of the node": lambda h, n, i: ra.where(
        ra.num_children(n) == 2, 0.5, ra.sum(H, lambda j: (W[i, j] + V[i, j]) * h(n, j))
    ),
}
HERE = {
    "under a guard of an index": lambda h, n, i: ra.sum(
        H, lambda j: ra.where((j < H - 1) & (ra.num_children(n) != 1), W[i, j + 1] * V[i, j], 0.25) * h(n, j)
    ),
    "an outer product": lambda h, n, i: ra.sum(H, lambda j: G[i] * W[0, j] * h(n, j)),
}


def model(term):
    h, x = ra.placeholder((ra.N, H)), ra.node_input("x", (H,))

    def children(n, j):
        return ra.sum_children(n, lambda k: h[k, j]) + x[n, j]

    body = ra.compute((ra.N, H), lambda n, i: ra.tanh(term(children, n, i)))
    return ra.recursion_op({"h": (h, body)})


def trees():
    rng = np.random.default_rng(0)

    def node(*children):
        return cortex.Node(list(children), x=rng.standard_normal(H).astype(np.float32))

    return [node(), node(node()), node(node(node(), node()), node(node()), node(), node())]


@pytest.mark.parametrize("name", [*TERMS, *HERE])
def test_they_agree_with_the_oracle(name):
    made = model((TERMS | HERE)[name])
    params = made.init_params(seed=1)
    out = cortex.compile(made, params, threads=1)(trees())
    for number, root in enumerate(trees()):
        assert error(out.nodes("h")[number], ra.evaluate(made, params, root)["h"]) <= 1e-5


@pytest.mark.parametrize("name", [*TERMS, *HERE])
def test_they_are_computed_when_parameters_are_bound(name):
    text = to_text(default_schedule(model((TERMS | HERE)[name])).lower())
    assert ("with bind:" in text) == (name in TERMS)


def test_factors_that_no_term_changes_leave_a_sum():
    made = model(lambda h, n, i: ra.sum(H, lambda j: G[i] * W[i, j] / h(n, i) * h(n, j) * 2.0))
    text = to_text(ra.Schedule(made).lower())
    (sum_,) = [line for line in text.splitlines() if "W[i, j]" in line]
    assert "g[i]" not in sum_
    assert " / " not in sum_
    assert "2.0" not in sum_
