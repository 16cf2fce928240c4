"""Weights by a node's type, the largest over children and their number, compiled: over trees, DAGs and sequences."""

from __future__ import annotations

import numpy as np
import pytest

import cortex
from cortex import ra
from tests.models.structures import Drawn, chain, grid, large_tree, vectors

H, TYPES = 5, 3


def typed(structure):
    """h = tanh(W[type] x + U[type] (Σ_k h_k) / max(1, children) + max_k h_k), 0 for the last two at a leaf."""
    N = ra.N
    W, U = ra.input_tensor("W", (TYPES, H, H)), ra.input_tensor("U", (TYPES, H, H))
    type_, x = ra.node_input("type", dtype="int32"), ra.node_input("x", (H,))
    h_ph = ra.placeholder((N, H))
    mean = ra.compute(
        (N, H),
        lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]) / ra.maximum(1, ra.num_children(n)),
    )
    Wx = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: W[type_[n], i, j] * x[n, j]))
    Uh = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: U[type_[n], i, j] * mean[n, j]))
    most = ra.compute((N, H), lambda n, i: ra.max_children(n, lambda k: h_ph[k, i]))
    h = ra.compute(
        (N, H),
        lambda n, i: ra.tanh(Wx[n, i] + Uh[n, i] + ra.where(ra.num_children(n) > 0, most[n, i], 0.0)),
    )
    return ra.recursion_op(h_ph, h, structure=structure)


def by_hand(params, children, payload):
    h: list[np.ndarray] = []
    for row, below in enumerate(children):
        W, U = (params[name][payload["type"][row]].astype(np.float64) for name in "WU")
        states = [h[k] for k in below]
        mean = sum(states, np.zeros(H)) / max(1, len(states))
        h.append(np.tanh(W @ payload["x"][row] + U @ mean + (np.max(states, axis=0) if states else 0.0)))
    return np.array(h)


@pytest.mark.parametrize(
    ("structure", "rows"),
    [
        (ra.Tree(), [[[]], large_tree(300, None, 1), chain(20)]),
        (ra.Dag(), [[[]], grid(6, 7), chain(5)]),
        (ra.Sequence(), [chain(1), chain(60)]),
    ],
    ids=["tree", "dag", "sequence"],
)
def test_a_typed_network(structure, rows):
    model = typed(structure)
    params = model.init_params(seed=4)
    fn = cortex.compile(model, params)
    rng = np.random.default_rng(1)
    carried = [
        {"type": [int(t) for t in rng.integers(TYPES, size=len(part))], "x": vectors(part, H, len(part))}
        for part in rows
    ]
    batch = [Drawn(*pair).root for pair in zip(rows, carried, strict=True)]
    out = fn(batch)
    for number, pair in enumerate(zip(rows, carried, strict=True)):
        want = by_hand(params, *pair)
        np.testing.assert_allclose(out.nodes("h")[number], want, atol=1e-5)
        np.testing.assert_allclose(ra.evaluate(model, params, batch[number])["h"], want, atol=1e-12)
    assert fn.show("checks").splitlines()[0].endswith(" proven, 0 kept")
