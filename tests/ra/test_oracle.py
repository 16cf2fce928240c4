"""The oracle, against what is worked out by hand or written in plain NumPy beside it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex import ra
from cortex.linearize import Forest, Node, Vocab
from tests.models.structures import ANY_TREE, Drawn, dags, vectors
from tests.support.with_torch import needs_torch, torch

N, K, H = ra.N, ra.K, 3
RNG = np.random.default_rng(7)


def closed(function, structure=None, params=None):
    """A model h = function(n, i) + the sum of the children's h, and its evaluation."""
    h_ph = ra.placeholder((N, H))
    h = ra.compute((N, H), lambda n, i: function(n, i) + ra.sum_children(n, lambda k: h_ph[k, i]))
    model = ra.recursion_op(h_ph, h, structure=structure)
    return lambda data, **options: ra.evaluate(model, params or {}, data, **options)


def of_node(function, params=None, **payload):
    """The value of function(n, i) at a single node."""
    return closed(function, params=params)(Node(**payload))["h"][0]


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (lambda n, i: i, [0, 1, 2]),
        (lambda n, i: 2 * i - 1, [-1, 1, 3]),
        (lambda n, i: (i + 2) // 2 * 10 + (i - 1) % 3, [12, 10, 21]),
        (lambda n, i: 1 / (i + 1), [1, 1 / 2, 1 / 3]),
        (
            lambda n, i: ra.exp(i) + ra.log(i + 1) + ra.sqrt(i),
            [1, np.e + np.log(2) + 1, np.e**2 + np.log(3) + 2**0.5],
        ),
        (lambda n, i: ra.tanh(i) + ra.sigmoid(-i), np.tanh([0, 1, 2]) + 1 / (1 + np.exp([0, 1, 2]))),
        (lambda n, i: abs(i - 1) + ra.relu(i - 1) * ra.maximum(i, 2) - ra.minimum(i, 1), [1, -1, 2]),
        (lambda n, i: ra.where(i == 1, 5, i), [0, 5, 2]),
        (lambda n, i: ra.where((i != 1) & ~(i > 1) | (i == 2), 1, 0), [1, 0, 1]),
        (lambda n, i: ra.where((i <= 1) & (i >= 1), 1, 0), [0, 1, 0]),
        (lambda n, i: ra.sum(4, lambda j: i * j + j), [6, 12, 18]),
        (lambda n, i: ra.sum(4, lambda j: 2), [8, 8, 8]),
        (lambda n, i: ra.sum(2, lambda j: ra.sum(2, lambda m: i * j * m + j - m)), [0, 1, 2]),
        (lambda n, i: ra.max(4, lambda j: (j - i) * (3 - j)), [2, 1, 0]),
        (lambda n, i: ra.max(4, lambda j: i), [0, 1, 2]),
        (lambda n, i: ra.sum_children(n, lambda k: 1) + ra.num_children(n), [0, 0, 0]),
        (lambda n, i: ra.where(ra.isleaf(n), 1, 2), [1, 1, 1]),
        (lambda n, i: ra.where(ra.max_children(n, lambda k: 1) < 0, 1, 2), [1, 1, 1]),
    ],
)
def test_arithmetic(function, value):
    np.testing.assert_allclose(of_node(function), np.asarray(value, float), rtol=1e-14)


X = RNG.standard_normal((4, 5))
Y = RNG.standard_normal((3, 5, 4))


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (lambda a, b: lambda n, i: a[i, 0], X[:3, 0]),
        (lambda a, b: lambda n, i: a[0, i + 1], X[0, 1:4]),
        (lambda a, b: lambda n, i: a[i, i], np.diag(X)[:3]),
        (lambda a, b: lambda n, i: a[3 - i, i + 2], [X[3, 2], X[2, 3], X[1, 4]]),
        (lambda a, b: lambda n, i: ra.sum(5, lambda j: a[i, j]), X[:3].sum(1)),
        (lambda a, b: lambda n, i: ra.sum(5, lambda j: a[i, j] * a[i + 1, j]), (X[:3] * X[1:]).sum(1)),
        (
            lambda a, b: lambda n, i: ra.sum(4, lambda j: ra.sum(5, lambda m: b[i, m, j] * a[j, m])),
            np.einsum("imj,jm->i", Y, X),
        ),
        (
            lambda a, b: lambda n, i: ra.sum(4, lambda j: a[j, i] - a[j, 0] * 2),
            (X[:, :3] - X[:, :1] * 2).sum(0),
        ),
        (lambda a, b: lambda n, i: ra.max(5, lambda j: a[i, j] * b[i, j, 2]), (X[:3] * Y[:, :, 2]).max(1)),
        (
            lambda a, b: lambda n, i: ra.sum(8, lambda j: ra.where(j < 4, a[j % 4, i], a[j - 4, i + 2])),
            X[:, :3].sum(0) + X[:, 2:].sum(0),
        ),
        (lambda a, b: lambda n, i: ra.sum(4, lambda j: ra.where(j < 3, b[j, i, 0], 0.0)), Y[:, :3, 0].sum(0)),
    ],
)
def test_indexing(function, value):
    a, b = ra.input_tensor("a", (4, 5)), ra.input_tensor("b", (3, 5, 4))
    both = lambda n, i: function(a, b)(n, i) + 0 * (a[0, 0] + b[0, 0, 0])  # noqa: E731
    np.testing.assert_allclose(of_node(both, {"a": X, "b": Y}), value, rtol=1e-13)


def test_large_products_are_contracted_without_their_grid():
    A, B = RNG.standard_normal((100, 90)), RNG.standard_normal((90, 80))
    a, b = ra.input_tensor("a", A.shape), ra.input_tensor("b", B.shape)
    h_ph = ra.placeholder((N, 100, 80))
    h = ra.compute(
        (N, 100, 80),
        lambda n, i, j: (
            ra.sum(90, lambda m: a[i, m] * b[m, j])
            + ra.sum(90, lambda m: a[i, m] * a[i, 0])
            + ra.sum_children(n, lambda k: h_ph[k, i, j])
        ),
    )
    model = ra.recursion_op(h_ph, h)
    got = ra.evaluate(model, {"a": A, "b": B}, Node())["h"][0]
    np.testing.assert_allclose(got, A @ B + (A.sum(1) * A[:, 0])[:, None], rtol=1e-11)


def test_payloads_of_every_kind():
    kind, x = ra.node_input("kind", dtype="int32"), ra.node_input("x", (2, H))
    ids = ra.node_input("ids", (2,), dtype="int64", default=-1)
    W = ra.input_tensor("W", (2, 4))
    typed = closed(
        lambda n, i: W[kind[n], i] * x[n, 1, i] + ra.where(ids[n, 0] >= 0, W[ids[n, 0], ids[n, 1] % 4], 0.5),
        params={"W": X[:2, :4]},
    )
    value = RNG.standard_normal((2, H)).astype(np.float32)
    out = typed(Node([Node(kind=0, x=value, ids=[1, 7])], kind=1, x=value.tolist()))["h"]
    leaf = X[0, :3] * value[1] + X[1, 3]
    np.testing.assert_allclose(out, [leaf, X[1, :3] * value[1] + 0.5 + leaf], rtol=1e-6)


def test_a_dimension_of_children_is_computed_once_for_each():
    x, h_ph = ra.node_input("x", (H,)), ra.placeholder((N, H))
    score = ra.compute((N, K), lambda n, k: ra.sum(H, lambda j: h_ph[k, j] * x[n, j]))
    highest = ra.compute((N,), lambda n: ra.max_children(n, lambda k: score[n, k]))
    weight = ra.compute((N, K), lambda n, k: ra.exp(score[n, k] - highest[n]))
    total = ra.compute((N,), lambda n: ra.sum_children(n, lambda k: weight[n, k]))
    mixed = ra.compute(
        (N, H), lambda n, i: ra.sum_children(n, lambda k: weight[n, k] / total[n] * h_ph[k, i]) + x[n, i]
    )
    model = ra.recursion_op(h_ph, mixed)
    below, root = RNG.standard_normal((3, H)).astype(np.float32), RNG.standard_normal(H).astype(np.float32)
    out = ra.evaluate(model, {}, Node([Node(x=v) for v in below], x=root))["h"]
    soft = np.exp(below.astype(float) @ root) / np.exp(below.astype(float) @ root).sum()
    np.testing.assert_allclose(out, [*below, soft @ below + root])


def child_sum(structure):
    x, U = ra.node_input("x", (H,), default=0.0), ra.input_tensor("U", (H, H))
    h_ph = ra.placeholder((N, H))
    hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
    h = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + ra.sum(H, lambda j: U[i, j] * hs[n, j])))
    return ra.recursion_op(h_ph, h, structure=structure)


def child_sum_rows(U, children, x):
    rows = []
    for below, value in zip(children, x, strict=True):
        rows.append(np.tanh(value + U @ sum((rows[k] for k in below), np.zeros(H))))
    return rows


@given(dags(), st.integers(0, 99))
def test_a_dag_computes_each_node_once(children, seed):
    model = child_sum(ra.Dag())
    params = model.init_params(seed)
    drawn = Drawn(children, {"x": vectors(children, H, seed)})
    nodes = drawn.nodes()
    # A DAG's rows follow the first visit, not the order that it was drawn in.
    order = []

    def visit(row):
        for child in children[row]:
            visit(child)
        if row not in order:
            order.append(row)

    visit(len(children) - 1)
    want = child_sum_rows(params["U"].astype(float), children, drawn.payload["x"])
    got = ra.evaluate(model, params, nodes[-1])["h"]
    np.testing.assert_allclose(got, [want[row] for row in order], rtol=1e-12)


def test_a_node_of_many_parents_does_not_cost_many_times():
    node = Node(x=np.ones(H, np.float32))
    for _ in range(60):
        node = Node([node, Node([node])])
    assert len(ra.evaluate(child_sum(ra.Dag()), child_sum(ra.Dag()).init_params(), node)["h"]) == 121


def test_a_sequence_is_an_array_of_steps():
    model = child_sum(ra.Sequence())
    params = model.init_params()
    x = RNG.standard_normal((5, H)).astype(np.float32)
    want = child_sum_rows(params["U"].astype(float), [[], [0], [1], [2], [3]], x)
    np.testing.assert_allclose(ra.evaluate(model, params, x)["h"], want, rtol=1e-12)


@given(st.lists(ANY_TREE, max_size=3), st.integers(0, 99))
def test_a_list_is_a_batch(shapes, seed):
    model = child_sum(ra.Tree())
    params = model.init_params(seed)
    batch = [Drawn(children, {"x": vectors(children, H, seed)}).root for children in shapes]
    results = ra.evaluate(model, params, batch)
    assert [len(one["h"]) for one in results] == [len(children) for children in shapes]
    for root, result in zip(batch, results, strict=True):
        np.testing.assert_array_equal(result["h"], ra.evaluate(model, params, root)["h"])


def test_whatever_a_function_takes():
    emb = ra.input_tensor("emb", (5, H))
    word = ra.node_input("word", dtype="int32", default=-1)
    run = closed(
        lambda n, i: ra.where(word[n] >= 0, emb[word[n], i], 1.0), params={"emb": RNG.standard_normal((5, H))}
    )
    want = run(((1, 2), 3))["h"]
    vocab = Vocab(["zero", "one", "two", "three"])
    np.testing.assert_array_equal(run("(0 (0 (0 one) (0 two)) (0 three))", vocab=vocab)["h"], want)
    (forest,) = run(Forest([0, 0, 0, 2, 2, 4], [0, 1, 2, 3], word=[1, 2, -1, 3, -1]))
    np.testing.assert_array_equal(forest["h"], want)
    assert run(4)["h"].shape == (1, H)
    assert run([]) == []


def test_a_chain_of_a_hundred_thousand_nodes():
    one = ra.compute((N,), lambda n: 1.0)
    h_ph = ra.placeholder((N,))
    h = ra.compute((N,), lambda n: one[n] + ra.sum_children(n, lambda k: h_ph[k]))
    root = Node()
    for _ in range(99_999):
        root = Node([root])
    depth = ra.evaluate(ra.recursion_op(h_ph, h), {}, root)["h"]
    np.testing.assert_array_equal(depth, np.arange(1, 100_001))


def test_results_are_the_callers_own():
    model = child_sum(ra.Tree())
    params = model.init_params()
    first = ra.evaluate(model, params, Node([Node()], x=None))["h"]
    before = first.copy()
    first_again = ra.evaluate(model, params, Node([Node()], x=None))["h"]
    first_again[:] = 0
    np.testing.assert_array_equal(first, before)


@needs_torch
@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
def test_payloads_may_be_tensors_that_require_gradients(kind):
    x, h_ph = ra.node_input("x", (3,)), ra.placeholder((ra.N, 3))
    h = ra.compute((ra.N, 3), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
    value = torch.arange(3.0, dtype=getattr(torch, kind), requires_grad=True)
    rows = ra.evaluate(ra.recursion_op(h_ph, h), {}, Node([Node(x=value)], x=value))["h"]
    np.testing.assert_array_equal(rows, [[0, 1, 2], [0, 2, 4]])
