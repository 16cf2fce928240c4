"""What is zero where a node has no children or carries no input, and what has to be finite for it."""

import pytest

from cortex import ra
from cortex.ra.lower.case_facts import LEAF, CaseFacts
from cortex.ra.lower.zeros import Zeros

N, K, H = ra.N, ra.K, 3


class Cell:
    """The tensors that the expressions below are made of."""

    def __init__(self):
        self.W, self.b = ra.input_tensor("W", (H, H)), ra.input_tensor("b", (H,))
        self.x = ra.node_input("x", (H,))
        self.word = ra.node_input("word", dtype="int32", default=-1)
        self.h = ra.placeholder((N, H), name="h")
        self.kept = ra.placeholder((N, H), name="kept", default=0.0)
        self.one = ra.placeholder((N, H), name="one", default=1.0)
        self.hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: self.h[k, i]), name="hs")

    def body(self, function):
        """Return what a compute says of its node `n` and its index `i`."""
        return ra.compute((N, H), function).body


@pytest.fixture
def cell():
    return Cell()


def at_leaves(**changes):
    return Zeros(CaseFacts({LEAF: True}).truth, childless=True, **changes)


ZERO = {
    "constant": lambda m, n, i: 0.0 * m.b[i],
    "negative zero": lambda m, n, i: -0.0 * m.b[i],
    "sum over children": lambda m, n, i: ra.sum_children(n, lambda k: m.h[k, i]),
    "sum of ones over children": lambda m, n, i: ra.sum_children(n, lambda k: 1.0 + m.h[k, i]),
    "compute": lambda m, n, i: m.hs[n, i],
    "child that is not there": lambda m, n, i: m.kept[n.left, i],
    "negated": lambda m, n, i: -m.hs[n, i],
    "sum": lambda m, n, i: m.hs[n, i] + m.hs[n, 0],
    "difference": lambda m, n, i: m.hs[n, i] - 0.0 * m.b[i],
    "parameter": lambda m, n, i: m.b[i] * m.hs[n, i],
    "parameter on the right": lambda m, n, i: m.hs[n, i] * m.b[i],
    "number": lambda m, n, i: 2.0 * m.hs[n, i],
    "zero times zero": lambda m, n, i: m.hs[n, i] * m.hs[n, 0],
    "product": lambda m, n, i: ra.sum(H, lambda j: m.W[i, j] * m.hs[n, j]),
    "both branches": lambda m, n, i: ra.where(m.x[n, i] > 0.0, m.hs[n, i], -m.hs[n, i]),
    "the branch of leaves": lambda m, n, i: ra.where(ra.isleaf(n), m.hs[n, i], m.b[i]),
    "the other branch": lambda m, n, i: ra.where(~ra.isleaf(n), m.b[i], m.hs[n, i]),
}
OTHER = {
    "number": lambda m, n, i: 1.0 + m.hs[n, i],
    "parameter": lambda m, n, i: m.b[i] + m.hs[n, i],
    "child that is not there and reads as one": lambda m, n, i: m.one[n.left, i],
    "payload": lambda m, n, i: m.x[n, i],
    "payload times zero": lambda m, n, i: m.x[n, i] * m.hs[n, i],
    "computed times zero": lambda m, n, i: ra.exp(m.b[i]) * m.hs[n, i],
    "sum of parameters times zero": lambda m, n, i: (m.b[i] + m.b[0]) * m.hs[n, i],
    "infinity times zero": lambda m, n, i: float("inf") * m.hs[n, i],
    "nan times zero": lambda m, n, i: float("nan") * m.hs[n, i],
    "quotient": lambda m, n, i: m.hs[n, i] / m.b[i],
    "function of zero": lambda m, n, i: ra.tanh(m.hs[n, i]),
    "absolute value": lambda m, n, i: ra.abs(m.hs[n, i]),
    "larger of two": lambda m, n, i: ra.maximum(m.hs[n, i], 0.0),
    "largest": lambda m, n, i: ra.max(H, lambda j: m.hs[n, j]),
    "one branch": lambda m, n, i: ra.where(m.x[n, i] > 0.0, m.hs[n, i], m.b[i]),
    "the branch of others": lambda m, n, i: ra.where(ra.isleaf(n), m.b[i], m.hs[n, i]),
    "product of a payload": lambda m, n, i: ra.sum(H, lambda j: m.x[n, j] * m.hs[n, j]),
}


@pytest.mark.parametrize("name", ZERO)
def test_what_is_zero_at_leaves(cell, name):
    zeros = at_leaves()
    assert zeros.holds(cell.body(lambda n, i: ZERO[name](cell, n, i)))


@pytest.mark.parametrize("name", OTHER)
def test_what_is_not_taken_to_be_zero(cell, name):
    zeros = at_leaves()
    assert not zeros.holds(cell.body(lambda n, i: OTHER[name](cell, n, i)))


@pytest.mark.parametrize("name", [name for name in ZERO if name not in ("constant", "negative zero")])
def test_nothing_is_zero_where_there_may_be_children(cell, name):
    zeros = Zeros(lambda condition: None)
    assert not zeros.holds(cell.body(lambda n, i: ZERO[name](cell, n, i)))


def test_a_sum_of_zeros_over_children_is_zero_anywhere(cell):
    zeros = Zeros(lambda condition: None)
    assert zeros.holds(cell.body(lambda n, i: ra.sum_children(n, lambda k: 0.0 * cell.b[i])))
    assert zeros.finite == {cell.b}


def test_integers_are_not_told(cell):
    zeros = at_leaves()
    assert not zeros.holds(cell.body(lambda n, i: cell.x[n, cell.word[n] * 0]).indices[1])


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda m, n, i: m.hs[n, i], set()),
        (lambda m, n, i: 2.0 * m.hs[n, i], set()),
        (lambda m, n, i: m.b[i] * m.hs[n, i], {"b"}),
        (lambda m, n, i: ra.sum(H, lambda j: m.W[i, j] * m.hs[n, j]) - m.hs[n, i] * m.b[i], {"W", "b"}),
        (lambda m, n, i: m.b[i] * m.x[n, i], set()),
        (lambda m, n, i: m.b[i] * ra.sum(H, lambda j: m.W[i, j] * m.hs[n, j]), {"W", "b"}),
    ],
)
def test_the_parameters_that_have_to_be_finite(cell, function, names):
    zeros = at_leaves()
    zeros.holds(cell.body(lambda n, i: function(cell, n, i)))
    assert {tensor.name for tensor in zeros.finite} == names


def test_branches_of_tensors_are_followed(cell):
    leaf = ra.compute((N, H), lambda n, i: cell.hs[n, i])
    inner = ra.compute((N, H), lambda n, i: cell.b[i])
    body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, inner))
    read = cell.body(lambda n, i: cell.b[i] * body[n, i])
    assert at_leaves(resolve=lambda tensor: leaf if tensor is body else tensor).holds(read)
    assert not at_leaves(resolve=lambda tensor: inner if tensor is body else tensor).holds(read)
    assert not at_leaves().holds(read)
