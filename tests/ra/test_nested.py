"""A dense reduction within one over children is a compute of its own, unless a condition guards it or it looks up."""

from __future__ import annotations

import numpy as np
import pytest

import cortex
from cortex import ra

N, H = ra.N, 5
RNG = np.random.default_rng(0)
W = RNG.standard_normal((H, H)).astype(np.float32)


def tree(depth: int, children: int = 3) -> cortex.Node:
    below = [tree(depth - 1, children) for _ in range(children if depth else 0)]
    return cortex.Node(below, x=RNG.standard_normal(H).astype(np.float32), word=depth)


def model(body):
    x, w = ra.node_input("x", (H,)), ra.input_tensor("W", (H, H))
    h = ra.placeholder((N, H))
    s = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: body(w, h, x, n, k, i)))
    return ra.recursion_op(h, ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + s[n, i])))


def by_hand(node, term):
    s = np.zeros(H)
    for child in node.children:
        s = s + term(by_hand(child, term), child.x.astype(float), node.x.astype(float))
    return np.tanh(node.x + s)


CASES = {
    "a product": (
        lambda w, h, x, n, k, i: ra.sum(H, lambda j: w[i, j] * h[k, j]),
        lambda h, child, own: W.astype(float) @ h,
    ),
    "two, in an expression": (
        lambda w, h, x, n, k, i: (
            ra.sigmoid(ra.sum(H, lambda j: w[i, j] * h[k, j])) * ra.sum(H, lambda j: h[k, j] * x[n, j])
        ),
        lambda h, child, own: 1 / (1 + np.exp(-(W.astype(float) @ h))) * (h @ own),
    ),
    "of the node alone": (
        lambda w, h, x, n, k, i: h[k, i] * ra.sum(H, lambda j: w[i, j] * x[n, j]),
        lambda h, child, own: h * (W.astype(float) @ own),
    ),
    "of a payload": (
        lambda w, h, x, n, k, i: h[k, i] + ra.max(H, lambda j: x[k, j] * w[j, i]),
        lambda h, child, own: h + (child[:, None] * W.astype(float)).max(0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_it_is_computed_for_each_child(case):
    body, term = CASES[case]
    built = model(body)
    assert "k in children(n)" in str(built) and ("[n, k" in str(built)) is (case != "of the node alone")
    trees = [tree(2), tree(0), tree(3, 2)]
    found = cortex.compile(built, {"W": W})(trees)["h"]
    np.testing.assert_allclose(found, [by_hand(each, term) for each in trees], rtol=1e-5, atol=1e-5)


def test_the_same_code_as_of_a_compute_by_hand():
    x, w = ra.node_input("x", (H,)), ra.input_tensor("W", (H, H))
    h = ra.placeholder((N, H))
    u = ra.compute((N, ra.K, H), lambda n, k, i: ra.sum(H, lambda j: w[i, j] * h[k, j]), name="s_of_child")
    s = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: u[n, k, i]))
    apart = ra.recursion_op(h, ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + s[n, i])))
    assert str(apart) == str(model(CASES["a product"][0]))


@pytest.mark.parametrize(
    "body",
    [
        lambda w, h, x, n, k, i: ra.where(ra.isleaf(k), 0.0, ra.sum(H, lambda j: w[i, j] * h[k, j])),
        lambda w, h, x, n, k, i: ra.sum(H, lambda j: w[ra.node_input("word", dtype="int32")[k], j] * h[k, j]),
    ],
    ids=["guarded", "looked up"],
)
def test_it_stays(body):
    assert "[n, k" not in str(model(body))


@pytest.mark.parametrize("inner_first", [False, True])
def test_whether_the_node_is_a_leaf_is_no_guard(inner_first):
    """A leaf has no children that anything would be computed for."""
    x, w, h = ra.node_input("x", (H,)), ra.input_tensor("W", (H, H)), ra.placeholder((N, H))

    def pooled(n, i):
        most = ra.max_children(n, lambda k: ra.sum(H, lambda j: w[i, j] * h[k, j]))
        return ra.where(~ra.isleaf(n), most, 0.0) if inner_first else ra.where(ra.isleaf(n), 0.0, most)

    built = ra.recursion_op(h, ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + pooled(n, i))))
    assert "[n, k" in str(built)

    def value(node):
        below = [W.astype(float) @ value(child) for child in node.children]
        return np.tanh(node.x + (np.max(below, 0) if below else 0))

    trees = [tree(2), tree(0), tree(3, 2)]
    found = cortex.compile(built, {"W": W})(trees)["h"]
    np.testing.assert_allclose(found, [value(each) for each in trees], rtol=1e-5, atol=1e-5)
