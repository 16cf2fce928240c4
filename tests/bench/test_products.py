"""What a model has to multiply: counted by hand for each cell, and for cells that try the analysis."""

import pytest

from bench.models import MODELS
from bench.peers.job import Cell
from bench.products import needed_products
from cortex import models, ra

H = 8
SQUARE, BYTES = 2 * H * H, 4 * H * H

# For each cell: operations at a leaf, at an inner node itself and for each of its children; and bytes of weights.
BY_HAND = {
    Cell.TREE_FC: {"leaf": (0, 0, 0), "inner": (2 * SQUARE, 0, 2 * BYTES)},
    Cell.TREE_LSTM: {"leaf": (3 * SQUARE, 0, 3 * BYTES), "inner": (3 * SQUARE, SQUARE, 4 * BYTES)},
    Cell.TREE_LSTM_RECURSIVE: {"leaf": (0, 0, 0), "inner": (3 * SQUARE, SQUARE, 4 * BYTES)},
    Cell.ANOTHER_CELL: {"leaf": (0, 0, 0), "inner": (4 * SQUARE, SQUARE, 5 * BYTES)},
    # Two matrices times vectors, W times both, and W_M times two matrices.
    Cell.MV_RNN: {"leaf": (0, 0, 0), "inner": (2 * SQUARE + 2 * SQUARE + 2 * H * SQUARE, 0, 4 * BYTES)},
    Cell.TREE_GRU_RECURSIVE: {"leaf": (0, 0, 0), "inner": (3 * SQUARE, 0, 3 * BYTES)},
    Cell.DAG_RNN: {"leaf": (0, 0, 0), "inner": (SQUARE, 0, BYTES)},
    Cell.GATED_DAG: {"leaf": (0, 0, 0), "inner": (2 * SQUARE, SQUARE, 3 * BYTES)},
    # Six gates of three children.
    Cell.TERNARY_LSTM: {"leaf": (0, 0, 0), "inner": (18 * SQUARE, 0, 18 * BYTES)},
    # A first step has no state to multiply: nothing to forget, and nothing to reset but what torch's cell adds to zero.
    Cell.LSTM: {"leaf": (3 * SQUARE, 0, 3 * BYTES), "inner": (8 * SQUARE, 0, 8 * BYTES)},
    Cell.GRU: {"leaf": (2 * SQUARE, 0, 2 * BYTES), "inner": (6 * SQUARE, 0, 6 * BYTES)},
    Cell.GRU_RESET_AFTER: {"leaf": (3 * SQUARE, 0, 3 * BYTES), "inner": (6 * SQUARE, 0, 6 * BYTES)},
}


def counted(model, **where):
    products = needed_products(model, **where)
    node = sum(product.flops for product in products if not product.per_child)
    child = sum(product.flops for product in products if product.per_child)
    weights = {name: size for product in products for name, size in product.weights}
    return node, child, sum(weights.values())


@pytest.mark.parametrize("where", ["leaf", "inner"])
@pytest.mark.parametrize("cell", list(Cell))
def test_counts_by_hand(cell, where):
    kind = MODELS[cell]
    leaf = where == "leaf"
    found = counted(kind.build(H, 10), leaf=leaf, carries=leaf or bool(kind.payloads))
    assert found == BY_HAND[cell][where]


@pytest.mark.parametrize("cell", [Cell.LSTM, Cell.GRU, Cell.GRU_RESET_AFTER])
def test_products_with_inputs_wait_for_no_child(cell):
    products = needed_products(MODELS[cell].build(H, 10), leaf=False, carries=True)
    matrices = {
        name[0]: {product.recurrent for product in products if product.weights[0][0][0] == name}
        for name in "WU"
    }
    assert matrices == {"W": {False}, "U": {True}}


def test_an_input_that_inner_nodes_carry_is_multiplied():
    model = models.tree_lstm(H, 2 * H, 10)
    inputs = 4 * 2 * H * 2 * H  # W_f x too, since there are children to forget
    assert counted(model, leaf=False, carries=True)[0] == inputs + 3 * SQUARE


def test_a_model_over_any_nodes_is_not_guessed_at():
    N = ra.N
    h_ph = ra.placeholder((N, H))
    few = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
    many = ra.compute((N, H), lambda n, i: 0.5 * few[n, i])
    body = ra.if_then_else((N, H), lambda n, i: (ra.num_children(n) > 2, many, few))
    model = ra.recursion_op(h_ph, body, structure=ra.Tree())
    with pytest.raises(ValueError, match="depends on more than whether a node is a leaf"):
        needed_products(model, leaf=False, carries=False)
    assert needed_products(model, leaf=True, carries=False) == []


def test_two_products_may_share_their_weights():
    N = ra.N
    W = ra.input_tensor("W", (H, H))
    h_ph = ra.placeholder((N, H))
    left = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: W[i, j] * h_ph[n.left, j]))
    right = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: W[i, j] * h_ph[n.right, j]))
    inner = ra.compute((N, H), lambda n, i: ra.tanh(left[n, i] + right[n, i]))
    leaf = ra.compute((N, H), lambda n, i: 1.0)
    body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, inner))
    model = ra.recursion_op(h_ph, body, structure=ra.Tree(max_children=2))
    assert counted(model, leaf=False, carries=False) == (2 * SQUARE, 0, BYTES)


def test_sums_count_the_products_that_they_add_up():
    N = ra.N
    W = ra.input_tensor("W", (H, H))
    h_ph = ra.placeholder((N, H))
    both = ra.compute(
        (N, H), lambda n, i: ra.sum(H, lambda j: W[i, j] * h_ph[n.left, j] - W[j, i] * h_ph[n.right, j])
    )
    total = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: both[n, j]) + both[n, i])
    leaf = ra.compute((N, H), lambda n, i: 1.0)
    body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, total))
    model = ra.recursion_op(h_ph, body, structure=ra.Tree(max_children=2))
    assert counted(model, leaf=False, carries=False) == (2 * SQUARE, 0, 2 * BYTES)
