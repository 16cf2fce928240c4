"""Children of a DAG's nodes by position: two directions of a grid, with matrices of their own."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

import cortex
from cortex import ra
from cortex.linearize import linearize
from tests.support.agreement import check_agreement, interpreted

N, H = ra.N, 5
SHAPES = [(3, 4), (1, 1), (1, 5), (4, 1), (2, 2)]


def grid_rnn(*, max_children: int | None = 2) -> ra.Model:
    """Return tanh(x + W_left h_left + W_up h_up), where a neighbour that is missing is zero."""
    x, h_ph = ra.node_input("x", (H,)), ra.placeholder((N, H), default=0.0)
    W = [ra.input_tensor(f"W_{side}", (H, H)) for side in ("left", "up")]
    left = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: W[0][i, j] * h_ph[n.left, j]), name="left")
    up = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: W[1][i, j] * h_ph[n.child(1), j]), name="up")
    h = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + left[n, i] + up[n, i]), name="h")
    return ra.recursion_op(h_ph, h, structure=ra.Dag(max_children=max_children))


def graph(rows: int, columns: int, values: np.ndarray) -> networkx.DiGraph:
    """Return a grid as a graph; upper neighbours are inserted first, and positions say so."""
    grid = networkx.DiGraph()
    for row, column in np.ndindex(rows, columns):
        grid.add_node((row, column), x=values[row, column])
        if row:
            grid.add_edge((row, column), (row - 1, column), position=1)
        if column:
            grid.add_edge((row, column), (row, column - 1), position=0)
    return grid


def node(rows: int, columns: int, values: np.ndarray) -> cortex.Node:
    """Return the same grid as nodes, with None for a neighbour that is missing."""
    nodes: dict[tuple[int, int], cortex.Node] = {}
    for row, column in np.ndindex(rows, columns):
        below = [nodes.get((row, column - 1)), nodes.get((row - 1, column))]
        nodes[row, column] = cortex.Node(below if any(below) else [], x=values[row, column])
    return nodes[rows - 1, columns - 1]


def by_hand(params: dict[str, np.ndarray], values: np.ndarray) -> np.ndarray:
    """Return the state of the last corner, by a loop over rows and columns."""
    h = np.zeros((values.shape[0] + 1, values.shape[1] + 1, H))
    for row, column in np.ndindex(*values.shape[:2]):
        left, up = h[row + 1, column], h[row, column + 1]
        h[row + 1, column + 1] = np.tanh(values[row, column] + params["W_left"] @ left + params["W_up"] @ up)
    return h[-1, -1]


def grids() -> list[tuple[int, int, np.ndarray]]:
    random = np.random.default_rng(3)
    return [(*shape, random.standard_normal((*shape, H)).astype(np.float32)) for shape in SHAPES]


@pytest.mark.parametrize("build", [graph, node])
def test_the_oracle_is_the_loop_over_a_grid(build):
    model = grid_rnn()
    params = model.init_params(seed=1)
    found = ra.evaluate(model, params, [build(*each) for each in grids()])
    for result, (_, _, values) in zip(found, grids(), strict=True):
        np.testing.assert_allclose(result["h"][-1], by_hand(params, values), atol=1e-6)


def schedules(model: ra.Model) -> list[ra.Schedule]:
    plain, batched, once = ra.Schedule(model), ra.Schedule(model), ra.Schedule(model)
    batched.dynamic_batch()
    for name in ("left", "up"):
        once.compute_once(next(body for body in once.model.computes if body.name == name))
    once.dynamic_batch()
    once.specialize_leaves()
    return [plain, batched, once]


@pytest.mark.parametrize("most", [2, None])
def test_lowered_it_computes_the_same(most):
    model = grid_rnn(max_children=most)
    params, batch = model.init_params(seed=1), [graph(*each) for each in grids()]
    expected = ra.evaluate(model, params, batch)
    for schedule in schedules(model):
        arrays = linearize(schedule.plan(), batch)
        check_agreement(interpreted(schedule.lower(), arrays, params), expected, schedule.log())


def test_compiled_graphs_and_nodes_have_the_same_bits(caplog):
    model = grid_rnn()
    fn = cortex.compile(model, model.init_params(seed=1), threads=2)
    graphs, nodes = (fn([build(*each) for each in grids()])["h"] for build in (graph, node))
    assert (graphs == nodes).all() and not caplog.records
    expected = [by_hand(model.init_params(seed=1), values) for _, _, values in grids()]
    np.testing.assert_allclose(graphs, expected, atol=1e-5)


def test_a_position_beyond_the_arity_is_refused():
    with pytest.raises(cortex.ModelError, match=r"fix: Dag\(max_children=2\), or read a lower position"):
        grid_rnn(max_children=1)
