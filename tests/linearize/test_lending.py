"""Vectors are copied once, from where they stand; what comes out is what stood there as each node was read."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.ilir.plan import Payload, Presence
from cortex.linearize import Linearizer, Node
from ragged.errors import DataError
from ragged.ir.dtype import DType
from tests.linearize.support import carrying, check_against_reference, vector, word

MATRIX = Payload("m", DType.FLOAT64, (2, 3), Presence.NOWHERE, 0.5, None)
PLAN = carrying(vector(), MATRIX, word(Presence.NOWHERE))
LARGE = 400  # of these, 64 floats each, an array's memory is worth keeping


class Writes(Node):
    """A node that writes where others' vectors stand as its own is asked for."""

    def __init__(self, children: Any = (), *, into: list[np.ndarray]) -> None:
        super().__init__(children)
        self.into = into

    @property
    def x(self) -> np.ndarray:
        for array in self.into:
            array[...] = -1
        return np.full(3, 7, np.float32)


def floats(length: int) -> st.SearchStrategy[np.ndarray]:
    numbers = st.lists(st.integers(-99, 99), min_size=length, max_size=length)
    return numbers.map(lambda values: np.array(values, np.float32))


def xs() -> st.SearchStrategy[Any]:
    return st.one_of(
        floats(3),
        floats(3),
        floats(6).map(lambda a: a[::2]),
        floats(6).map(lambda a: a[2:5]),
        floats(3).map(lambda a: a[::-1]),
        floats(1).map(lambda a: np.broadcast_to(a, 3)),
        st.none(),
    )


def matrices() -> st.SearchStrategy[Any]:
    whole = floats(6).map(lambda a: a.astype(np.float64).reshape(2, 3))
    return st.one_of(whole, whole, whole.map(np.asfortranarray), st.none())


@st.composite
def trees(draw: st.DrawFn) -> Node:
    """Draw a tree of vectors that all lie in arrays, but for one node, if at all, that is read in another way."""
    made: list[Node] = []
    odd = draw(st.integers(-9, 9))
    for place in range(draw(st.integers(1, 10))):
        kids = [made.pop() for _ in range(draw(st.integers(0, min(3, len(made)))))]
        if place == odd:
            made.append(draw(st.sampled_from([Writes(kids, into=[]), Node(kids, x=[1.0, 2.0, 3.0])])))
        else:
            made.append(Node(kids, x=draw(xs()), m=draw(matrices()), word=draw(st.integers(0, 9))))
    return Node(made, x=None, m=None, word=None)


@settings(deadline=None)
@given(st.lists(trees(), min_size=1, max_size=3))
def test_vectors_are_those_of_the_reference(batch):
    result = check_against_reference(PLAN, batch)
    assert not isinstance(result, str), result


def test_a_getter_may_use_one_buffer_for_all():
    room = np.zeros(3, np.float32)

    class Filled:
        def __init__(self, value, children=()):
            self.value, self.children = value, children

        @property
        def x(self):
            room[:] = self.value
            return room

    result = Linearizer(carrying(vector()))(Filled(1, [Filled(2), Filled(3)]))
    assert result.payloads["x"][:, 0].tolist() == [1, 2, 3]


def test_what_was_read_before_somebody_writes_stays_as_it_was():
    x = np.float32([1, 2, 3])
    result = Linearizer(carrying(vector()))(Node([Node(x=x), Writes(into=[x])]))
    assert result.payloads["x"].tolist() == [[0, 0, 0], [1, 2, 3], [7, 7, 7]]
    assert x.tolist() == [-1, -1, -1]


def test_later_changes_do_not_reach_the_result():
    x = np.float32([1, 2, 3])
    result = Linearizer(carrying(vector()))(Node(x=x))
    x[:] = 0
    assert result.payloads["x"].tolist() == [[1, 2, 3]]


def test_nothing_is_held_after_the_call():
    x = np.zeros(3, np.float32)
    right, wrong = [Node(x=x), Node([Node(x=x), Node()])], [Node(x=x), Node(x=np.zeros(2, np.float32))]
    linearize = Linearizer(carrying(vector()))
    before = sys.getrefcount(x)
    kept = linearize(right).payloads
    with pytest.raises(DataError):
        linearize(wrong)
    assert sys.getrefcount(x) == before and len(kept["x"]) == 4


class Resizes:
    """Garbage that only the collector finds, and gives an array other memory then."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.itself = array, self

    def __del__(self) -> None:
        self.array.resize(100_000, refcheck=False)


def read_among_garbage(linearize: Linearizer, x: np.ndarray, allocations: int) -> list[list[float]] | None:
    """Return the vectors of two nodes where garbage is collected after so many allocations, None where before all."""
    gc.collect()
    thresholds = gc.get_threshold()
    tree = Node([Node(x=x), Node()])
    Resizes(x)
    gc.set_threshold(gc.get_count()[0] + allocations, *thresholds[1:])
    try:
        return linearize(tree).payloads["x"].tolist()
    except DataError as error:
        assert "has shape (100000,)" in str(error)
        return None
    finally:
        gc.set_threshold(*thresholds)


def test_no_finalizer_runs_while_arrays_lend():
    linearize = Linearizer(carrying(vector()))
    gc.freeze()  # else each collection looks at all that other tests have left
    found, arrays = [], [np.ones(3, np.float32) for _ in range(60)]
    for allocations, x in enumerate(arrays):
        found.append(read_among_garbage(linearize, x, allocations))
    gc.unfreeze()
    read = [rows for rows in found if rows is not None]
    assert read == [[[0, 0, 0], [1, 1, 1], [0, 0, 0]]] * len(read) and len(read) > 10
    gc.collect()
    assert all(len(x) == 100_000 for x in arrays)


class Looks(Node):
    """A node that looks whether garbage is collected as its own vector is asked for."""

    @property
    def x(self) -> np.ndarray:
        return np.full(3, gc.isenabled(), np.float32)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was(enabled):
    linearize = Linearizer(carrying(vector()))
    x = np.zeros(3, np.float32)
    try:
        if not enabled:
            gc.disable()
        linearize(Node(x=x))
        assert gc.isenabled() is enabled
        with pytest.raises(DataError):
            linearize([Node(x=x), Node(x=np.zeros(2, np.float32))])
        assert gc.isenabled() is enabled
        result = linearize(Node([Node(x=x), Looks()]))
        assert result.payloads["x"].tolist()[-1] == [float(enabled)] * 3
        assert gc.isenabled() is enabled
    finally:
        gc.enable()


def large(value: float) -> list[Node]:
    return [Node(x=np.full(64, value, np.float32)) for _ in range(LARGE)]


def test_memory_is_used_again_when_nobody_has_it():
    linearize = Linearizer(carrying(vector(length=64)))
    batch = large(1)
    places = set()
    for _ in range(20):
        places.add(linearize(batch).payloads["x"].ctypes.data)
    assert len(places) <= 2


def test_no_later_call_changes_what_somebody_has():
    linearize = Linearizer(carrying(vector(length=64)))
    kept = [linearize(large(value)).payloads["x"] for value in range(5)]
    views = [linearize(large(value)).payloads["x"][3:, ::2] for value in range(5)]
    del linearize
    gc.collect()
    for value, (whole, view) in enumerate(zip(kept, views, strict=True)):
        assert whole.flags.writeable and whole.shape == (LARGE, 64)
        assert (whole == value).all() and (view == value).all()
