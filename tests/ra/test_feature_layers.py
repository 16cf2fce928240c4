"""Layers over features against PyTorch's, in the oracle and compiled, in a model without recursion."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import cortex
from cortex import Node, ra
from ragged.errors import ModelError

N, K, E, H, C = ra.N, ra.K, 3, 5, 4


def layers() -> ra.Model:
    """Return layers on a node's vector and its children's, with every function that torch has too."""
    x = ra.node_input("x", (E,))
    W, b = ra.input_tensor("W", (H, E)), ra.input_tensor("b", (H,))
    g, c = ra.input_tensor("g", (H,)), ra.input_tensor("c", (H,))
    U, V = ra.input_tensor("U", (C, H)), ra.input_tensor("V", (H, E))
    own = ra.linear(x, W, b)
    each = ra.compute((N, K, E), lambda n, k, i: x[k, i])
    below = ra.linear(each, V)
    s = ra.compute(
        (N, H),
        lambda n, i: ra.gelu(own[n, i]) + ra.sum_children(n, lambda k: ra.leaky_relu(below[n, k, i], 0.2)),
    )
    h = ra.layer_norm(s, g, c)
    z = ra.linear(h, U)
    p = ra.softmax(z)
    q = ra.log_softmax(z)
    plain = ra.layer_norm(s, eps=0.5)
    return ra.recursion_op({"h": h, "p": p, "q": q, "plain": plain})


def by_torch(params: dict[str, np.ndarray], tree: Node) -> dict[str, np.ndarray]:
    """Return the root's outputs of `layers`."""
    t = {name: torch.from_numpy(array) for name, array in params.items()}
    s = nn.functional.gelu(nn.functional.linear(torch.from_numpy(tree.x), t["W"], t["b"]))
    for child in tree.children:
        s = s + nn.functional.leaky_relu(nn.functional.linear(torch.from_numpy(child.x), t["V"]), 0.2)
    h = nn.functional.layer_norm(s, (H,), t["g"], t["c"])
    z = nn.functional.linear(h, t["U"])
    plain = nn.functional.layer_norm(s, (H,), eps=0.5)
    results = {"h": h, "p": torch.softmax(z, -1), "q": torch.log_softmax(z, -1), "plain": plain}
    return {name: value.numpy() for name, value in results.items()}


def tree(seed: int) -> Node:
    def vector() -> np.ndarray:
        return rng.standard_normal(E).astype(np.float32)

    rng = np.random.default_rng(seed)
    return Node([Node(x=vector()), Node([Node(x=vector()), Node(x=vector())], x=vector())], x=vector())


def test_layers_are_those_of_torch_and_need_no_recursion():
    model = layers()
    params = model.init_params(seed=1)
    trees = [tree(seed) for seed in range(3)]
    fn = cortex.compile(model, params, threads=1)
    out = fn(trees)
    for number, each in enumerate(trees):
        for name, want in by_torch(params, each).items():
            np.testing.assert_allclose(out[name][number], want, atol=2e-6)
            np.testing.assert_allclose(ra.evaluate(model, params, each)[name][-1], want, atol=2e-6)
    assert "placeholders" not in repr(model)


def test_a_placeholder_is_read_at_each_child():
    h_ph, W = ra.placeholder((N, H)), ra.input_tensor("W", (H, H))
    x = ra.node_input("x", (H,))
    Wh = ra.linear(h_ph, W)
    h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: Wh[n, k, i]))
    model = ra.recursion_op(h_ph, h)
    params = model.init_params()
    leaf = Node(x=np.ones(H, np.float32))
    rows = ra.evaluate(model, params, Node([leaf], x=np.zeros(H, np.float32)))["h"]
    np.testing.assert_allclose(rows[1], params["W"] @ np.ones(H), rtol=1e-6)
    assert "Wh[n, k, i0] = sum(W[i0, j] * h_ph[k, j] for j < 5)" in repr(model)


def test_a_large_logit_overflows_nothing():
    x = ra.node_input("x", (2,))
    model = ra.recursion_op({"p": ra.softmax(x), "q": ra.log_softmax(x)})
    rows = ra.evaluate(model, {}, Node(x=np.float32([1e4, 0.0])))
    assert rows["p"].tolist() == [[1.0, 0.0]] and rows["q"].tolist() == [[0.0, -1e4]]


REFUSED = {
    "linear: x has shape (ra.N, 3), W (3, 5)": lambda x, h_ph: ra.linear(x, ra.input_tensor("W", (E, H))),
    "linear: x has shape (ra.N, 3), W (5, 3), b (3,)": lambda x, h_ph: ra.linear(
        x, ra.input_tensor("W", (H, E)), ra.input_tensor("b", (E,))
    ),
    "layer_norm: weight has shape (5,), x (ra.N, 3)": lambda x, h_ph: ra.layer_norm(
        x, ra.input_tensor("g", (H,))
    ),
    "softmax: 'h_ph' has shape (ra.N, 5)": lambda x, h_ph: ra.softmax(h_ph),
    "log_softmax: 'word' has shape (ra.N,)": lambda x, h_ph: ra.log_softmax(ra.node_input("word")),
    "softmax: it is 3": lambda x, h_ph: ra.softmax(3),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with pytest.raises(ModelError) as refused:
        REFUSED[message](ra.node_input("x", (E,)), ra.placeholder((N, H), name="h_ph"))
    assert str(refused.value).startswith(message + "\n  at test_feature_layers.py:")


def test_parts_side_by_side_have_features_each():
    with pytest.raises(ModelError) as refused:
        ra.concat(ra.node_input("x", (E,)), ra.node_input("m", (E, E)))
    what, _, fix = str(refused.value).splitlines()
    assert what == "concat: not all parts are (ra.N, F)"
    assert fix == "  fix: ra.concat(x, ra.concat_children(h_ph, 2))"


def test_a_result_for_each_child_is_no_output():
    x = ra.node_input("x", (E,))
    with pytest.raises(ModelError, match="output 'y' is not a placeholder and its compute"):
        ra.recursion_op({"y": ra.compute((N, K, E), lambda n, k, i: x[k, i])})
