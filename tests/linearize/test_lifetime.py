"""No reference is lost and none is kept, whether a batch is taken or refused."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

from cortex.ilir.plan import Presence
from cortex.linearize import Linearizer, Node
from ragged.errors import DataError
from tests.linearize.illegal import CASES
from tests.linearize.support import BARE, TREE, carrying, vector, word


def test_objects_live_as_long_as_the_result_that_names_them():
    root = Node([Node(word=1), Node(word=2)])
    watch = weakref.ref(root)
    result = Linearizer(TREE)([root])
    del root
    assert watch() is result.keys[2]
    del result
    gc.collect()
    assert watch() is None


def test_counts_of_references_are_what_they_were():
    x = np.zeros(3, np.float32)
    leaf, pair = Node(x=x, word=3), (1, 2)
    batch = [Node([leaf, Node()]), pair, "(1 (2 a))"]
    linearize = Linearizer(carrying(vector(), word(Presence.NOWHERE)))
    with pytest.raises(DataError):
        linearize(batch)
    del batch[-1]
    before = [sys.getrefcount(thing) for thing in (x, leaf, pair, batch, None.__class__)]
    for _ in range(100):
        linearize(batch)
    assert [sys.getrefcount(thing) for thing in (x, leaf, pair, batch, None.__class__)] == before


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_keeps_nothing(name):
    case = CASES[name]
    linearize = Linearizer(case.plan, **case.options)
    data = case.make()
    if isinstance(data, bool):
        return  # never dies
    parts = [data, *getattr(data, "children", ())] if not isinstance(data, list) else [data, *data]
    refuse(linearize, data)
    before = [sys.getrefcount(part) for part in parts]
    for _ in range(20):
        refuse(linearize, data)
    assert [sys.getrefcount(part) for part in parts] == before


def refuse(linearize: Linearizer, data: object) -> None:
    try:
        linearize(data)
    except DataError:
        return
    raise AssertionError("it was taken")


def test_children_made_on_the_fly_are_kept_apart():
    class Fresh:
        def __init__(self, depth):
            self.depth = depth

        @property
        def children(self):
            return [Fresh(self.depth - 1), Fresh(self.depth - 1)] if self.depth else []

    assert Linearizer(BARE)(Fresh(8)).num_nodes == 2**9 - 1


@pytest.mark.parametrize("kept", [0, 1])
def test_a_list_that_shrinks_while_it_is_read(kept):
    root = Node([])

    class Thief:
        children = ()

        @property
        def word(self):
            del root.children[kept:]
            return 1

    root.children = [Thief(), Thief(), Thief()]
    assert Linearizer(TREE)(root).num_nodes == 2
