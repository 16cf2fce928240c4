"""The results of a call: a mapping, and which root and structure each row belongs to."""

from __future__ import annotations

import pickle

import networkx
import numpy as np
import pytest

import cortex
from cortex import ra


@pytest.fixture(scope="module")
def fn() -> cortex.RecursiveFunction:
    """Return a function over DAGs: the sum of a node's value and its children's sums, and its double."""
    x, s_ph = ra.node_input("x"), ra.placeholder((ra.N,))
    s = ra.compute((ra.N,), lambda n: x[n] + ra.sum_children(n, lambda k: s_ph[k]))
    twice = ra.compute((ra.N,), lambda n: 2.0 * s[n])
    return cortex.compile(
        ra.recursion_op({"s": (s_ph, s), "twice": twice}, structure=ra.Dag()), {}, threads=1
    )


def graph(roots: int) -> networkx.DiGraph:
    """Return a DAG of so many roots over one leaf of value 1; root number r has the value 10 r."""
    made = networkx.DiGraph()
    made.add_node("leaf", x=1.0)
    for root in range(roots):
        made.add_node(root, x=10.0 * root)
        made.add_edge(root, "leaf")
    return made


def test_it_is_a_mapping(fn):
    out = fn([graph(1), graph(2)])
    assert len(out) == 2 and list(out) == list(out.keys()) == ["s", "twice"] and "s" in out
    assert out.num_structures == 2
    for copy in (dict(out), {**out}, dict(out.items())):
        assert list(copy) == ["s", "twice"] and copy["s"] is out["s"]
    assert out.get("h") is None and out == out and out != fn([graph(1), graph(2)])
    assert out.keys(0) == ["leaf", 0]
    again = pickle.loads(pickle.dumps(out))
    np.testing.assert_array_equal(again["twice"], 2 * out["s"])


@pytest.mark.parametrize("structure", [-1, 2])
def test_keys_of_a_structure_that_is_not_there(fn, structure):
    with pytest.raises(IndexError, match=f"there is no structure {structure}: the output has 2"):
        fn([graph(1), graph(2)]).keys(structure)


def test_keys_are_of_a_structure_and_not_of_an_output(fn):
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        fn(graph(1)).keys("s")


def test_roots_of_several_structures_are_told_apart(fn):
    out = fn([graph(2), graph(1), graph(3)])
    assert out["s"].tolist() == [1, 11, 1, 1, 11, 21]
    assert out.root_begin.tolist() == [0, 2, 3, 6]
    assert out.structure_of.tolist() == [0, 0, 1, 2, 2, 2] and out.structure_of.dtype == np.int32
    assert [rows.tolist() for rows in out.roots("s")] == [[1, 11], [1], [1, 11, 21]]
    nothing = fn([])
    assert (nothing.num_structures, len(nothing), nothing.roots("s")) == (0, 2, [])
    assert nothing.structure_of.shape == (0,) and nothing.root_begin.tolist() == [0]
