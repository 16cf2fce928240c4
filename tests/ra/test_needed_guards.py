"""Sums of products behind a condition on data are computed at all nodes, others where the condition holds."""

from __future__ import annotations

import numpy as np
import pytest

import cortex
from cortex import Node, ra

H, V, N = 20, 5, ra.N


def cell(term, **structure):
    """Return a model that adds `term(n, i, data)` to a vector at each node."""
    ph, x, word = ra.placeholder((N, H)), ra.node_input("x", (H,)), ra.node_input("word", dtype="int32")
    w, v = ra.input_tensor("W", (H, H)), ra.input_tensor("V", (H, H))
    table = ra.input_tensor("table", (V, H))
    total = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: ph[k, i]), name="total")

    def product(read, of=w):
        return lambda i: ra.sum(H, lambda j: of[i, j] * read(j))

    data = {"ph": ph, "x": x, "word": word, "w": w, "v": v, "table": table, "total": total}
    h = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + term(n, i, product, data)), name="h")
    return ra.recursion_op(ph, h, **structure)


def of_children(n, i, product, data):
    """Another matrix for each of two labels, and none for others."""
    return ra.sum_children(
        n,
        lambda k: ra.where(
            data["word"][k] == 1,
            product(lambda j: data["ph"][k, j])(i),
            ra.where(data["x"][k, 0] > 0.0, product(lambda j: data["ph"][k, j], data["v"])(i), 0.0),
        ),
    )


def at_the_node(n, i, product, data):
    return ra.where(
        data["word"][n] > 2,
        product(lambda j: data["total"][n, j])(i),
        product(lambda j: data["total"][n, j], data["v"])(i),
    )


def behind_the_structure(n, i, product, data):
    inner = ra.where(data["x"][n, 0] > 0.0, product(lambda j: data["total"][n, j])(i), 1.0)
    return ra.where(ra.num_children(n) > 1, inner, 0.0)


def looked_up(n, i, product, data):
    """The condition says that the index is one."""
    row = product(lambda j: data["table"][data["word"][n], j])(i)
    return data["total"][n, i] + ra.where(data["word"][n] < V, row, 0.0)


def at_a_position(n, i, product, data):
    chosen = ra.where(data["word"][n] == 1, product(lambda j: data["ph"][n.left, j])(i), 1.0)
    return ra.where(ra.isleaf(n), 0.0, chosen)


def of_an_index(n, i, product, data):
    return ra.where(i < 3, product(lambda j: data["total"][n, j])(i), 0.0)


def trees():
    random, words = np.random.default_rng(0), iter([0, 1, 7, 2, 1, 3, 1, 4, 0, 1, 3, 9])

    def node(*children):
        return Node(children, x=random.standard_normal(H, np.float32), word=next(words))

    leaves = [node() for _ in range(6)]
    return [node(node(*leaves[:2]), node(leaves[2])), node(node(*leaves[3:])), node()]


@pytest.mark.parametrize(
    ("term", "guarded"),
    [
        (of_children, False),
        (at_the_node, False),
        (behind_the_structure, True),
        (looked_up, True),
        (of_an_index, True),
    ],
)
def test_a_sum_is_behind_a_condition_only_if_what_it_reads_may_not_be_there(term, guarded):
    model, data = cell(term), trees()
    params = {name: 0.3 * value for name, value in model.init_params(seed=1).items()}
    function = cortex.compile(model, params)
    lines = function.show("ilir").partition("with kernel:")[2].splitlines()
    assert any(line.strip().startswith("if ") for line in lines) == guarded
    wanted = [ra.evaluate(model, params, each)["h"][-1] for each in data]
    np.testing.assert_allclose(function(data)["h"], wanted, atol=1e-5)


def test_a_child_at_a_position_is_read_where_the_structure_says():
    model = cell(at_a_position, structure=ra.Tree(max_children=2))
    params = {name: 0.3 * value for name, value in model.init_params(seed=1).items()}
    function = cortex.compile(model, params)
    assert "== 1:" not in function.show("ilir")
    random = np.random.default_rng(0)
    x = random.standard_normal((5, H), np.float32)
    pair = Node([Node(x=x[0], word=1), Node(x=x[1], word=0)], x=x[2], word=1)
    tree = Node([pair, Node(x=x[3], word=0)], x=x[4], word=1)
    np.testing.assert_allclose(function(tree)["h"][0], ra.evaluate(model, params, tree)["h"][-1], atol=1e-5)
