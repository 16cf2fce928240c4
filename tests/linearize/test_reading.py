"""What the reference's readers offer the oracle: structures in a plain form."""

from __future__ import annotations

import numpy as np
import pytest

from cortex.linearize import Forest, Node, Vocab
from cortex.linearize.reference import payload_value, read_structures
from tests.linearize.support import BINARY, carrying, vector

SAME = [
    (1, (2, 3)),
    Node([Node(word=1), Node([Node(word=2), Node(word=3)])]),
    "(3 (2 a) (1 (0 b) (0 c)))",
    Forest([0, 2, 2, 4, 4, 4], [1, 2, 3, 4], word=[-1, 1, -1, 2, 3]),
]


@pytest.mark.parametrize("data", SAME, ids=lambda data: type(data).__name__)
def test_every_kind_reads_alike(data):
    (structure,) = read_structures(BINARY, data, vocab=Vocab(["z", "a", "b", "c"]))
    assert [[child.row for child in node.children] for node in structure.nodes] == [
        [],
        [],
        [],
        [1, 2],
        [0, 3],
    ]
    assert [int(payload_value(BINARY.payloads[0], 0, node)) for node in structure.nodes] == [1, 2, 3, -1, -1]
    assert structure.roots == [structure.nodes[4]] and structure.nodes[0].is_leaf


def test_sequences():
    plan = carrying(vector())
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (structure,) = read_structures(plan, x)
    np.testing.assert_array_equal(payload_value(plan.payloads[0], 0, structure.nodes[1]), x[1])
    assert structure.nodes[1].payload("word") is None and structure.nodes[1].key == 1
