"""A placeholder with a default is read at children that a node does not have: leaves, gaps, and behind the last."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cortex
from cortex import ra
from cortex.ilir.plan import StructureKind
from cortex.linearize import Node, linearize
from ragged.errors import DataError
from tests.models.structures import Drawn, sparse, vectors
from tests.support.agreement import error, interpreted, schedules

N, H = ra.N, 3


def model(structure=None, positions=(0, 1), default=0.25):
    """h = tanh(x + Σ_p (p + 1) h_p), where h_p is the default at a child that is not there."""
    x = ra.node_input("x", (H,))
    h_ph = ra.placeholder((N, H), default=default)

    def total(n, i):
        return sum(((p + 1) * h_ph[n.child(p), i] for p in positions), start=x[n, i])

    h = ra.compute((N, H), lambda n, i: ra.tanh(total(n, i)))
    return ra.recursion_op(h_ph, h, structure=structure or ra.Tree(max_children=3))


def by_hand(children, x, positions, default):
    rows = []
    for below, value in zip(children, x, strict=True):
        found = [below[p] if p < len(below) else None for p in positions]
        states = [np.full(H, default) if k is None else rows[k] for k in found]
        rows.append(np.tanh(value + sum((p + 1) * s for p, s in zip(positions, states, strict=True))))
    return np.array(rows)


@pytest.mark.parametrize(("positions", "default"), [((0, 1), 0.25), ((2,), -1.0), ((0, 1, 2), 0.0)])
@given(children=sparse(3), seed=st.integers(0, 99))
def test_the_oracle_and_every_schedule(positions, default, children, seed):
    recursion = model(positions=positions, default=default)
    x = vectors(children, H, seed)
    root = Drawn(children, {"x": x}).root
    want = by_hand(children, x, positions, default)
    np.testing.assert_allclose(ra.evaluate(recursion, {}, root)["h"], want, rtol=1e-12)
    leaves = ra.Schedule(recursion)
    leaves.specialize_leaves()
    for schedule in [*schedules(recursion).values(), leaves]:
        (got,) = interpreted(schedule.lower(), linearize(schedule.plan(), root), {})
        assert error(got["h"], want) <= 1e-5


def test_compiled():
    recursion = model(positions=(0, 2))
    fn = cortex.compile(recursion, {})
    x = np.float32([0.5, -1.0, 2.0])
    leaf = Node(x=x)
    batch = [leaf, Node([None, None, leaf], x=x), Node([leaf, leaf][:1], x=x), Node([None, leaf], x=x)]
    out = fn(batch)
    for number, root in enumerate(batch):
        assert error(out.nodes("h")[number], ra.evaluate(recursion, {}, root)["h"]) <= 1e-5
    assert fn.show("checks").splitlines()[0].endswith(" proven, 0 kept")


def test_what_is_asked_of_structures():
    def plan(recursion):
        found = recursion.plan()
        return found.kind, found.min_children, found.max_children, found.positions

    assert plan(model()) == (StructureKind.TREE, 0, 3, (0, 1))
    assert plan(model(positions=(1,))) == (StructureKind.TREE, 1, 3, (1,))
    # In a sequence a step that is not the first has its predecessor.
    assert plan(model(ra.Sequence(), positions=(0,))) == (StructureKind.SEQUENCE, 1, 1, (0,))


def test_a_child_that_is_also_read_without_a_default_must_be_there():
    h_ph, c_ph = ra.placeholder((N, H), default=0.0), ra.placeholder((N, H))
    x = ra.node_input("x", (H,))
    leaf = ra.compute((N, H), lambda n, i: x[n, i])
    inner = ra.compute((N, H), lambda n, i: c_ph[n.left, i] + h_ph[n.right, i])
    c = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, inner))
    h = ra.compute((N, H), lambda n, i: h_ph[n.left, i] + c[n, i])
    recursion = ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c)}, structure=ra.Tree(max_children=2))
    assert recursion.plan().min_children == 1
    with pytest.raises(DataError, match="child 0 is missing where later ones are given"):
        linearize(recursion.plan(), Node([None, Node(x=np.zeros(H, np.float32))], x=np.zeros(H, np.float32)))


def test_how_it_reads():
    assert "  h_ph (ra.N, 3), 0.25 where there is no child" in repr(model()).splitlines()
