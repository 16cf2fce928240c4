"""Refactorings that are refused: each reason with an operator of that kind, and the whole message."""

from __future__ import annotations

import pytest

from cortex import models, ra
from ragged.errors import ScheduleError
from tests.support.scheduled import tensor

N, H, E = ra.N, 3, 2


class Cell:
    """A cell with whatever a test reads; `close` makes a model of it."""

    def __init__(self, default=None):
        self.U, self.b = ra.input_tensor("U", (H, H)), ra.input_tensor("b", (H,))
        self.x = ra.node_input("x", (H,))
        self.word = ra.node_input("word", dtype="int32")
        self.h = ra.placeholder((N, H), name="h_ph", default=default)
        self.hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: self.h[k, i]), name="hs")

    def at(self, function, shape=(N, H)):
        return ra.compute(shape, function, name="op")

    def close(self, op, structure=None):
        rec = ra.compute((N, H), lambda n, i: ra.tanh(op[n, i] + self.hs[n, i]), name="rec")
        leaf = ra.compute((N, H), lambda n, i: self.x[n, i], name="leaf")
        body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec), name="body")
        return ra.recursion_op(self.h, body, structure=structure)


MOVES = "refactor: 'op' cannot move to the child\n  because: "
SHARED = (
    "  because: a node that several parents share has no one place in their recursion: what moves across its edges "
    "would be computed again for each (CORTEX, section 3.1)\n"
    "  fix: refactor models over ra.Tree() and ra.Sequence(); compute_once moves what one child gives"
)
OWN = ": it is of the node itself, which its children do not know"

REFUSED = {
    "itself": (lambda m: lambda n, i: m.x[n, i] * m.hs[n, i], MOVES + "'x[n, i]'" + OWN),
    "shape": (lambda m: lambda n, i: ra.num_children(n) * m.hs[n, i], MOVES + "'num_children(n)'" + OWN),
    "two": (
        lambda m: lambda n, i: m.h[n.left, i] * m.h[n.right, i],
        MOVES
        + "'h_ph[n.left, i] * h_ph[n.right, i]': it takes in the child at position 0 together with the child at "
        "position 1",
    ),
    "mixed": (
        lambda m: lambda n, i: m.h[n.left, i] + m.hs[n, i],
        MOVES
        + "'h_ph[n.left, i] + hs[n, i]': it takes in the child at position 0 together with the sum over all children",
    ),
    "curved": (
        lambda m: lambda n, i: ra.tanh(m.hs[n, i]),
        MOVES + "'tanh(hs[n, i])': it is not linear in the sum over the children",
    ),
    "square": (
        lambda m: lambda n, i: m.hs[n, i] * m.hs[n, i],
        MOVES + "'hs[n, i] * hs[n, i]': it is not linear in the sum over the children",
    ),
    "shifted": (
        lambda m: lambda n, i: m.hs[n, i] + m.b[i],
        MOVES + "'hs[n, i] + b[i]': it is not linear in the sum over the children",
    ),
    "largest": (
        lambda m: lambda n, i: ra.max_children(n, lambda k: m.h[k, i]),
        MOVES + "'max(h_ph[k, i] for k in children(n))': it compares the children with each other",
    ),
    "pairs": (
        lambda m: (
            lambda n, i: ra.sum_children(n, lambda k: m.h[k, i] * ra.sum_children(n, lambda q: m.h[q, i]))
        ),
        MOVES
        + "'h_ph[k, i] * sum(h_ph[q, i] for q in children(n))': it takes in each child for itself together with "
        "the sum over all children",
    ),
    "triangle": (
        lambda m: lambda n, i: ra.sum_children(n, lambda k: ra.sum_children(n, lambda q: m.h[k, i])),
        MOVES + "'h_ph[k, i]': 'k' is a child of another loop over children",
    ),
    "sums": (
        lambda m: lambda n, i: ra.sum_children(n, lambda k: ra.sum_children(n, lambda q: m.h[q, i])),
        MOVES
        + "'sum(sum(h_ph[q, i] for q in children(n)) for k in children(n))': in a sum over the children it takes "
        "in the sum over all children",
    ),
    "nothing": (
        lambda m: lambda n, i: m.b[i] * 2.0,
        "refactor: 'op' takes in nothing that a child returned\n"
        "  because: it lies on no way from a node to its parent, so that the recursion cannot be cut there\n"
        "  fix: hoist_inputs computes before the recursion what does not depend on it",
    ),
    "trivial": (
        lambda m: lambda n, i: m.h[n.left, i],
        "refactor: there is nothing of 'op' to move\n"
        "  because: of one child it is 'body', which the child returns already\n"
        "  fix: name an operator that computes with it",
    ),
    "infinite": (
        lambda m: lambda n, i: m.hs[n, i] * ra.exp(m.b[i]),
        MOVES + "it is not known to be zero where there is no child",
    ),
}


def refusal(schedule, op):
    """Return the whole message, without the line of this file."""
    model, log = schedule.model, schedule.log()
    with pytest.raises(ScheduleError) as caught:
        schedule.refactor(op)
    assert schedule.model is model and schedule.log() == log
    first, place, *rest = str(caught.value).splitlines()
    assert place.startswith("  at test_refactor_refusals.py:")
    return "\n".join([first, *rest])


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    cell = Cell()
    function, message = REFUSED[name]
    op = cell.at(function(cell))
    assert refusal(ra.Schedule(cell.close(op)), op) == message


def test_a_value_where_there_is_no_child_has_to_be_zero():
    cell = Cell(default=0.5)
    op = cell.at(lambda n, i: 2.0 * cell.h[n.left, i])
    assert (
        refusal(ra.Schedule(cell.close(op)), op)
        == MOVES + "it is not known to be zero where there is no child"
    )


def test_dags_are_refused():
    model = models.dag_rnn(H, E)
    op = tensor(model, "Uh")
    assert refusal(ra.Schedule(model), op) == "refactor: 'Uh' runs over a Dag\n" + SHARED


def test_what_is_no_operator_is_refused():
    cell = Cell()
    op = cell.at(lambda n, i: cell.U[i, 0] * cell.hs[n, i])
    model = cell.close(op)
    schedule = ra.Schedule(model)
    assert refusal(schedule, tensor(model, "body")) == (
        "refactor: 'body' is a choice and no operator\n"
        "  because: it was made by if_then_else\n"
        "  fix: name a compute"
    )
    assert refusal(schedule, Cell().hs) == (
        "refactor: 'hs' is not a tensor of this model\n"
        "  because: a tensor is named by itself, and not by what it is called\n"
        "  fix: take it from model.computes"
    )
    schedule.refactor(op)
    assert refusal(schedule, op) == (
        "refactor: there is nothing of 'op' to move\n"
        "  because: of one child it is 'op_up', which the child returns already\n"
        "  fix: name an operator that computes with it"
    )
