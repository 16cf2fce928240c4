"""Models that lowering once got wrong: what each schedule computes is what the oracle does.

The programs are interpreted as they are lowered, and after the checks that a call makes.
"""

from __future__ import annotations

import numpy as np
import pytest

import cortex
from cortex import Node, ra
from cortex.ilir.insert_order_checks import insert_order_checks
from cortex.linearize import linearize
from ragged.passes.insert_checks import insert_checks
from tests.support.agreement import check_agreement, interpreted, schedules

N, K, H = ra.N, ra.K, 3


def node(*children, **payload):
    """Make a node that carries what no other node of the test does."""
    node.made += 1
    random = np.random.default_rng(node.made)
    x = random.standard_normal(H).astype(np.float32)
    return Node(children, **{"x": x, "word": int(random.integers(4)), **payload})


node.made = 0


def binary():
    return [node(node(node(), node()), node()), node()]


def of_any_arity():
    return [node(node(node(), node(), node()), node()), node(), node(node(node()), node())]


def at_most_two():
    return [*binary(), node(node(node()))]


def check(output, structures, *, placeholder, structure=None):
    model = ra.recursion_op(placeholder, output, structure)
    params = model.init_params()
    expected = ra.evaluate(model, params, structures)
    for name, schedule in schedules(model).items():
        program, linearized = schedule.lower(), linearize(schedule.plan(), structures)
        check_agreement(interpreted(program, linearized, params), expected, name)
        checked = insert_checks(insert_order_checks(program).program).program
        check_agreement(interpreted(checked, linearized, params), expected, f"{name}, checked")


@pytest.fixture
def h():
    return ra.placeholder((N, H))


@pytest.fixture
def x():
    return ra.node_input("x", (H,))


# --- conditions --------------------------------------------------------------------------------------------


def test_whether_a_child_is_a_leaf_is_not_whether_the_node_is(h, x):
    leaf = ra.compute((N, H), lambda n, i: x[n, i])
    rec = ra.compute(
        (N, H),
        lambda n, i: ra.tanh(
            ra.sum_children(n, lambda k: ra.where(ra.isleaf(k), h[k, i], 2.0 * h[k, i]))
            + ra.where(ra.isleaf(n.left), 0.5, h[n.right, i])
        ),
    )
    body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
    check(body, binary(), placeholder=h, structure=ra.Tree(max_children=2))


def test_conditions_on_a_child_that_another_function_calls_n(h, x):
    rec = ra.compute(
        (N, H), lambda m, i: ra.sum_children(m, lambda n: ra.where(ra.num_children(n) == 2, h[n, i], 0.5))
    )
    leaf = ra.compute((N, H), lambda n, i: x[n, i])
    body = ra.if_then_else((N, H), lambda n, i: (ra.num_children(n) == 2, rec, leaf))
    check(body, of_any_arity(), placeholder=h)


def test_one_condition_under_two_names(h, x):
    two = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h[k, i]) + x[n, i])
    other = ra.compute((N, H), lambda n, i: x[n, i])
    inner = ra.if_then_else((N, H), lambda m, i: (ra.num_children(m) == 2, two, other))
    body = ra.if_then_else((N, H), lambda n, i: (~(ra.num_children(n) == 2), other, inner))
    check(body, of_any_arity(), placeholder=h)


# --- reductions that are used again ------------------------------------------------------------------------


def test_a_sum_in_both_branches_of_where(h, x):
    def function(n, i):
        total = ra.sum_children(n, lambda k: h[k, i])
        return ra.tanh(ra.where(x[n, i] > 0.0, total, 2.0 * total) + x[n, i])

    check(ra.compute((N, H), function), of_any_arity(), placeholder=h)


def test_a_sum_under_where_and_outside_of_it(h, x):
    U = ra.input_tensor("U", (H, H))

    def function(n, i):
        product = ra.sum(H, lambda j: U[i, j] * x[n, j])
        within = ra.sum_children(n, lambda k: ra.where(x[k, i] > 0.0, product, 0.25) * h[k, i])
        return ra.tanh(within + ra.where(x[n, i] > 0.0, product, 0.0) + product)

    check(ra.compute((N, H), function), of_any_arity(), placeholder=h)


def test_a_sum_over_pairs_of_children(h, x):
    U = ra.input_tensor("U", (H, H))

    def function(n, i):
        def pair(k):
            return ra.sum_children(n, lambda m: ra.sum(H, lambda j: U[i, j] * h[k, j] * h[m, j]))

        return ra.tanh(x[n, i] + ra.sum_children(n, pair))

    check(ra.compute((N, H), function), of_any_arity(), placeholder=h)


# --- what has no value at a leaf ---------------------------------------------------------------------------


def test_a_second_child_that_some_nodes_have(h, x):
    def function(n, i):
        first = ra.where(ra.isleaf(n), 0.0, h[n.left, i])
        return ra.tanh(x[n, i] + first + ra.where(ra.num_children(n) >= 2, h[n.right, i], 0.0))

    check(ra.compute((N, H), function), at_most_two(), placeholder=h, structure=ra.Tree(max_children=2))


def test_a_compute_that_is_read_at_inner_nodes_only(h, x):
    inner = ra.compute((N, H), lambda n, i: 2.0 * h[n.left, i])
    body = ra.compute((N, H), lambda n, i: ra.tanh(ra.where(ra.isleaf(n), x[n, i], inner[n, i])))
    check(body, at_most_two(), placeholder=h, structure=ra.Tree(max_children=2))


def test_a_compute_that_is_read_at_leaves_only(h):
    emb, word = ra.input_tensor("emb", (4, H)), ra.node_input("word", dtype="int32")
    leaf = ra.compute((N, H), lambda n, i: emb[word[n], i])
    sums = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h[k, i]))
    body = ra.compute((N, H), lambda n, i: ra.tanh(ra.where(ra.isleaf(n), leaf[n, i], sums[n, i])))
    check(body, [Node([Node([node(), node()]), node()]), node()], placeholder=h)


def test_what_a_loop_over_children_does_not_depend_on(h, x):
    def function(n, i):
        largest = ra.max(H, lambda j: h[n.right, j] * x[n, i])
        return ra.tanh(x[n, i] + ra.sum_children(n, lambda k: largest + ra.max(2, lambda j: h[n.left, i])))

    body = ra.compute((N, H), function)
    check(body, binary(), placeholder=h, structure=ra.Tree(max_children=2))


def test_a_compute_that_is_read_in_loops_over_children_only(h, x):
    right = ra.compute((N, H), lambda n, i: 0.5 * h[n.right, i])
    each = ra.compute((N, K, H), lambda n, k, i: right[n, i] * h[k, i] + ra.max(2, lambda j: h[n.left, i]))
    body = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + ra.sum_children(n, lambda k: each[n, k, i])))
    check(body, binary(), placeholder=h, structure=ra.Tree(max_children=2))


# --- payloads and parameters -------------------------------------------------------------------------------


def test_an_index_of_64_bits(h):
    emb, word = ra.input_tensor("emb", (4, H)), ra.node_input("word", dtype="int64")
    body = ra.compute((N, H), lambda n, i: ra.tanh(emb[word[n], i] + ra.sum_children(n, lambda k: h[k, i])))
    check(body, of_any_arity(), placeholder=h)
    model = ra.recursion_op(h, body)
    params, batch = model.init_params(), of_any_arity()
    output = cortex.compile(model, params)(batch)
    rows = [{"h": rows} for rows in output.nodes("h")]
    check_agreement(rows, ra.evaluate(model, params, batch), "machine code")


def test_a_parameter_without_dimensions(h, x):
    scale = ra.input_tensor("scale", ())
    body = ra.compute(
        (N, H), lambda n, i: ra.tanh(scale[()] * x[n, i] + ra.sum_children(n, lambda k: h[k, i]))
    )
    check(body, of_any_arity(), placeholder=h)


def test_the_oracle_asks_nothing_of_a_branch_that_no_index_takes(h):
    sign = ra.node_input("sign")

    def function(n, i):
        inner = ra.where((i < 1) & (ra.num_children(n) >= 1), sign[n], 0.25)
        return ra.tanh(ra.sum_children(n, lambda k: h[k, i])) + inner

    body = ra.compute((N, H), function)
    check(body, [Node([Node(), Node()], sign=1.0)], placeholder=h)


def test_a_compute_of_inner_nodes_that_reads_one_that_looks_something_up(h):
    """Both are read in loops over children alone; the first is guarded, and so is what reads it."""
    emb, word = ra.input_tensor("emb", (4, H)), ra.node_input("word", dtype="int32", default=-1)
    looked_up = ra.compute((N, H), lambda n, i: ra.where(word[n] >= 0, emb[word[n], i], 0.0))
    scaled = ra.compute((N, H), lambda n, i: 0.5 * looked_up[n, i])
    each = ra.compute((N, K, H), lambda n, k, i: scaled[n, i] * h[k, i])
    body = ra.compute((N, H), lambda n, i: ra.tanh(0.5 + ra.sum_children(n, lambda k: each[n, k, i])))
    check(body, of_any_arity(), placeholder=h)


def test_relu_of_nan_is_nan():
    x, ph = ra.node_input("x", (H,)), ra.placeholder((N, H))
    h = ra.compute(
        (N, H), lambda n, i: ra.sum_children(n, lambda k: 0.0 * ph[k, i]) + ra.relu(x[n, i]), name="h"
    )
    model = ra.recursion_op(ph, h)
    given = np.resize(np.array([np.nan, -1.0, 2.0], np.float32), H)
    result = cortex.compile(model, {})(Node([], x=given))["h"][0]
    np.testing.assert_array_equal(result, np.where(given < 0, np.float32(0), given))
    np.testing.assert_array_equal(ra.evaluate(model, {}, [Node([], x=given)])[0]["h"][0], result)
