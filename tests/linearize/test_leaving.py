"""Vectors that stay where they are: where that is, what keeps them, and when they are copied all the same."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.linearize import Forest, Linearized, Linearizer, Node
from ragged.errors import DataError
from tests.linearize import reference
from tests.linearize.support import assert_same, carrying, vector
from tests.linearize.test_lending import PLAN, trees

X = carrying(vector())


def gathered(result: Linearized, name: str) -> np.ndarray:
    """Return each node's value of a payload, from wherever it is."""
    shape = next(each.shape for each in result.plan.payloads if each.name == name)
    elements = np.arange(np.prod(shape, dtype=int))
    memory = result.payloads[name].reshape(-1)
    return memory[result.arrays[f"begin_of_{name}"][:, None] + elements].reshape(-1, *shape)


def stays(result: Linearized, name: str = "x") -> bool:
    return result.payloads[name].ndim == 1


@settings(deadline=None)
@given(st.lists(trees(), min_size=1, max_size=3), st.sampled_from([(), ("x",), ("m",), ("x", "m")]))
def test_values_are_those_of_the_reference(batch, names):
    expected = reference.linearize(PLAN, batch)
    result = Linearizer(PLAN).borrow(batch, names)
    for name in ("x", "m"):
        np.testing.assert_array_equal(gathered(result, name), expected.payloads[name])
        if not stays(result, name):
            np.testing.assert_array_equal(
                result.arrays[f"begin_of_{name}"], expected.arrays[f"begin_of_{name}"]
            )
    assert not any(stays(result, name) for name in {"x", "m"} - {*names})


def test_where_they_stay():
    x = np.arange(9, dtype=np.float32)
    result = Linearizer(X).borrow(Node([Node(x=x[5:8]), Node(x=x[:3])], x=x[2:5]), ("x",))
    memory = result.payloads["x"]
    assert memory.ctypes.data == x.ctypes.data and memory.shape == (8,) and not memory.flags.writeable
    assert result.begin_of_x[result.rows].tolist() == [5, 0, 2]


class SlottedAndMore:
    """An instance with a slot and with attributes in a dict, which CPython keeps behind the slot from 3.14 on."""

    __slots__ = ("__dict__", "children")

    def __init__(self, children: list[SlottedAndMore], x: np.ndarray) -> None:
        self.children, self.x = children, x


def test_attributes_behind_slots_stay_too():
    x = np.arange(9, dtype=np.float32)
    batch = SlottedAndMore([SlottedAndMore([], x[5:8])], x[2:5])
    result = Linearizer(X).borrow(batch, ("x",))
    assert stays(result)
    assert_same_values(result, Linearizer(X)(Node([Node(x=x[5:8])], x=x[2:5])))


def test_forests_and_sequences_stay_too():
    steps = np.arange(12, dtype=np.float32).reshape(4, 3)
    plan = carrying(vector())
    sequence = Linearizer(plan).borrow([steps], ("x",))
    assert stays(sequence) and sequence.payloads["x"].ctypes.data == steps.ctypes.data
    np.testing.assert_array_equal(gathered(sequence, "x")[sequence.rows], steps)
    forest = Forest([0, 2, 2, 2], [1, 2], x=steps[1:])
    result = Linearizer(plan).borrow(forest, ("x",))
    assert stays(result)
    assert_same_values(result, Linearizer(plan)(forest))


def assert_same_values(result: Linearized, expected: Linearized) -> None:
    np.testing.assert_array_equal(gathered(result, "x"), expected.payloads["x"])


def misplaced() -> np.ndarray:
    return np.frombuffer(bytes(range(13)), np.uint8)[1:].view(np.float32)


@pytest.mark.parametrize(
    "odd",
    [misplaced(), [1.0, 2.0, 3.0], np.float32([1, 9, 2, 9, 3])[::2], np.float32([1, 2, 3])[::-1]],
    ids=["misplaced", "a list", "strided", "backwards"],
)
def test_one_that_cannot_stay_has_all_of_them_copied(odd):
    batch = Node([Node(x=np.float32([1, 2, 3])), Node(x=odd)], x=np.float32([4, 5, 6]))
    result = Linearizer(X).borrow(batch, ("x",))
    assert not stays(result)
    assert_same(result, Linearizer(X)(batch))


def test_nodes_without_and_no_nodes_at_all():
    linearize = Linearizer(X)
    bare = linearize.borrow(Node([Node(x=None), Node()]), ("x",))
    assert stays(bare)
    assert gathered(bare, "x").tolist() == [[0, 0, 0]] * 3
    nothing = linearize.borrow([], ("x",))
    assert nothing.payloads["x"].shape == (0, 3) and nothing.begin_of_x.shape == (0,)
    del linearize
    gc.collect()
    assert gathered(bare, "x").tolist() == [[0, 0, 0]] * 3


def test_they_are_kept_as_long_as_the_result():
    class Made:
        children = ()

        @property
        def x(self) -> np.ndarray:
            return np.full(3, 7, np.float32)

    result = Linearizer(X).borrow([Made() for _ in range(50)], ("x",))
    assert not stays(result)  # nothing else has them
    gc.collect()
    others = [np.zeros(3, np.float32) for _ in range(200)]
    assert (gathered(result, "x") == 7).all() and len(others) == 200
    x = np.zeros(3, np.float32)
    batch = [Node(x=x), Node(x=x)]
    before = sys.getrefcount(x)
    kept = Linearizer(X).borrow(batch, ("x",))
    assert sys.getrefcount(x) == before + 2
    del kept
    assert sys.getrefcount(x) == before


def test_what_is_wrong_is_refused_as_ever():
    x = np.zeros(3, np.float32)
    batch = [Node(x=x), Node(x=np.zeros(2, np.float32))]
    before = sys.getrefcount(x)
    with pytest.raises(DataError) as copied:
        Linearizer(X)(batch)
    with pytest.raises(DataError) as left:
        Linearizer(X).borrow(batch, ("x",))
    assert str(left.value) == str(copied.value)
    del copied, left
    assert sys.getrefcount(x) == before
