"""Compiled results beside the oracle's, and what is found wrong with them."""

import math

import numpy as np
import pytest

from cortex import models, ra
from cortex.cli.check import Agreement, Wrong, check
from cortex.compiler.agreement import BOUND
from cortex.linearize import Node


def test_an_agreement_keeps_what_is_over_the_bound():
    agreement = Agreement()
    agreement.add(0, "h", BOUND)
    agreement.add(3, "h", 2 * BOUND)
    agreement.add(4, "c", math.inf)
    assert agreement.largest == math.inf
    assert agreement.wrong == [Wrong(3, "h", 2 * BOUND), Wrong(4, "c", math.inf)]


class Computed:
    """What a function returned for some trees, float32; `spoil(roots, nodes)` plants a fault in it."""

    def __init__(self, rows, spoil=lambda roots, nodes: None):
        self._nodes = [array.astype(np.float32) for array in rows]
        self._roots = np.array([array[-1] for array in self._nodes])
        spoil(self._roots, self._nodes)

    @property
    def num_structures(self):
        return len(self._nodes)

    def __getitem__(self, name):
        return self._roots

    def nodes(self, name):
        return self._nodes


MODEL = models.tree_sum(hidden=3, vocab=5)
PARAMS = MODEL.init_params(seed=0)
TREES = [Node([Node(word=1), Node(word=2)]), Node([Node([Node(word=0), Node(word=4)]), Node(word=3)])]


def checked(*outs):
    done = []
    agreements = check(MODEL, PARAMS, TREES, outs, lambda: done.append(None))
    assert len(done) == len(TREES)
    return agreements


def rows():
    return [ra.evaluate(MODEL, PARAMS, tree)["h"] for tree in TREES]


def test_what_is_right_agrees_in_every_batch():
    agreements = checked(Computed(rows()[:1]), Computed(rows()))
    assert [agreement.wrong for agreement in agreements] == [[], []]
    assert all(0 < agreement.largest < 1e-6 for agreement in agreements)


@pytest.mark.parametrize("fault", [1e-3, math.nan])
def test_one_wrong_root_is_found(fault):
    def spoil(roots, nodes):
        roots[1, 2] += fault

    right, wrong = checked(Computed(rows()[:1]), Computed(rows(), spoil))
    assert right.wrong == []
    assert [(found.structure, found.output) for found in wrong.wrong] == [(1, "h")]


def test_one_wrong_node_below_a_root_is_found():
    def spoil(roots, nodes):
        nodes[0][1, 0] -= 1e-3

    (agreement,) = checked(Computed(rows(), spoil))
    assert [(found.structure, found.output) for found in agreement.wrong] == [(0, "h")]


def test_roots_in_another_order_are_found():
    (agreement,) = checked(Computed(rows(), lambda roots, nodes: roots.__setitem__([0, 1], roots[[1, 0]])))
    assert [found.structure for found in agreement.wrong] == [0, 1]
