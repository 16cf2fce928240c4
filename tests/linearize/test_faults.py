"""Each message, whole: one illegal batch for each, refused alike by both linearizers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cortex.ilir.plan import Plan, StructureKind
from cortex.linearize import Linearizer, faults, linearize
from cortex.linearize.linearizer import MAX_NODES
from ragged.errors import DataError
from tests.linearize import reference
from tests.linearize.illegal import CASES
from tests.linearize.support import BINARY, TREE, check_against_reference

HELPERS = {"MOST_NODES", "Names", "Place", "path", "graph_node"}
ELSEWHERE = {
    "too_large",
    "other_shape",
    "storage_beyond",
    "storage_lost",
    "order_broken",
    "nothing_to_replace",
}
ELSEWHERE |= {"exchanged_rows", "renumbered", "unknown_payload"}  # test_with_payloads.py
EXCHANGED = {
    "": (BINARY, (1, 2), {"child": np.zeros(1, np.int32)}),
    ".payload": (TREE, 1, {"payloads": {"word": np.int32([[1]])}}),
    ".size": (TREE, 1, {"num_nodes": -1}),
    ".payloads": (TREE, 1, {"payloads": {}}),
    ".rows": (TREE, 1, {"rows": np.zeros(2, np.int32)}),
    ".row_begin": (TREE, 1, {"row_begin": np.zeros(3, np.int32)}),
}
ORDERS = {  # of ((1, 2), 3)
    "order_broken.roots": {"roots": np.int32([5])},
    "order_broken.rows": {"rows": np.int32([3, 4, -1, 2, 0])},
    "order_broken.row_begin": {"row_begin": np.int32([0, 4])},
    "order_broken.root_begin": {"root_begin": np.int32([1, 1])},
    "order_broken.kind": {"rows": [3, 4, 1, 2, 0]},
    "order_broken.floats": {"row_begin": np.float64([0, 5])},
    "order_broken.keys": {"row_keys": None},
    "nothing_to_replace": {"word": np.int32([1, 2, 3, 4, 5])},
}
RECYCLED = replace(BINARY, recycled=True)
STORED = {  # of ((1, 2), 3): the leaves are nodes 2, 3, 4, and the root has the row that node 2 had
    "storage_beyond": {"storage_begin": np.int32([0, 3, 4])},
    "storage_beyond.before": {"storage_begin": np.int32([-1, 3, 0])},
    "storage_beyond.size": {"storage_rows": -1},
    "storage_lost": {"storage_begin": np.int32([0, 2, 0])},
    "storage_lost.elsewhere": {"storage_row": np.int32([0, 3, 0, 2, 1])},
    "storage_lost.negative": {"storage_row": np.int32([0, 3, -1, 1, 2])},
    "storage_lost.position": {"left": np.int32([2, 2]), "right": np.int32([4, 3])},
    "storage_lost.root": {"roots": np.int32([2])},
}
BARE_DAG = Plan(StructureKind.DAG, 0, None, (), ())


@pytest.mark.parametrize("name", CASES)
def test_message(name, golden):
    case = CASES[name]
    text = check_against_reference(case.plan, case.make(), **case.options)
    assert isinstance(text, str), "it was taken"
    golden(f"{name}.txt", text + "\n")


def test_every_message_has_its_case():
    assert set(faults.__all__) - HELPERS - ELSEWHERE == {name.partition(".")[0] for name in CASES}


@pytest.mark.parametrize("name", EXCHANGED)
def test_arrays_that_do_not_fit(name, golden):
    plan, data, other = EXCHANGED[name]
    with pytest.raises(DataError) as refused:
        linearize(plan, data).replace(**other)
    golden(f"other_shape{name}.txt", f"{refused.value}\n")


@pytest.mark.parametrize("name", ORDERS)
def test_results_are_those_of_nodes(name, golden):
    batch = linearize(BINARY, ((1, 2), 3))
    with pytest.raises(DataError) as refused:
        batch.replace(**ORDERS[name])
    golden(f"{name}.txt", f"{refused.value}\n")
    same = batch.replace(rows=batch.rows.copy(), roots=batch.roots.copy(), payloads=dict(batch.payloads))
    assert same.row_keys == batch.row_keys


@pytest.mark.parametrize("name", STORED)
def test_rows_that_hold_other_nodes(name, golden):
    linearized = linearize(RECYCLED, ((1, 2), 3))
    assert linearized.storage_row.tolist() == [0, 3, 0, 1, 2]
    with pytest.raises(DataError) as refused:
        linearized.replace(**STORED[name])
    golden(f"{name}.txt", f"{refused.value}\n")


def test_what_are_no_nodes_is_left_to_the_prelude():
    linearized = linearize(RECYCLED, ((1, 2), 3))
    for wrong in (5, -1):
        linearized.replace(child=np.append(linearized.child[:-1], np.int32(wrong)))
        linearized.replace(batch_begin=np.array([2, 1, wrong], np.int32))
    linearized.replace(batch_length=np.int32([3, 1, -1]))


@pytest.mark.parametrize("data", [(1, (2, 3)), [1, 2, 3, 4, 5]])
def test_more_nodes_than_a_batch_may_have(data, golden):
    assert Linearizer(TREE, max_nodes=4).with_max_nodes(5)(data).num_nodes == 5
    with pytest.raises(DataError) as refused:
        linearize(TREE, data, max_nodes=4)
    golden("too_large.txt", f"{refused.value}\n")


def test_shared_tuples_are_refused_before_memory_is_gone():
    data: object = 1
    for _ in range(40):
        data = (data, data)
    with pytest.raises(DataError, match="more than 1000 nodes"):
        linearize(BINARY, data, max_nodes=1000)
    assert MAX_NODES == 2**26


def test_nodes_that_are_made_as_they_are_read_are_refused_before_memory_is_gone():
    read = []

    class Endless:
        word = 1

        @property
        def children(self) -> list[Endless]:
            read.append(self)
            return [Endless()]

    with pytest.raises(DataError, match="more than 1000 nodes"):
        linearize(TREE, Endless(), max_nodes=1000)
    assert len(read) <= 1002


def test_more_nodes_than_numbers(golden):
    golden("too_large.numbers.txt", f"{faults.too_large('nodes', faults.MOST_NODES)}\n")


@pytest.mark.parametrize("max_nodes", [0, -1, 2**31, True, 2.0])
def test_what_is_no_number_of_nodes(max_nodes):
    with pytest.raises(DataError) as refused:
        linearize(TREE, 1, max_nodes=max_nodes)
    assert str(refused.value) == (
        f"linearize: max_nodes={max_nodes!r} is no number of nodes\n"
        "  because: nodes are counted in 32 bits\n"
        "  fix: a number from 1 to 2147483647"
    )


def test_more_edges_than_numbers():
    node = reference.StructureNode  # any object with children will do
    leaf = node(None, lambda name: None, "")
    root = node(None, lambda name: None, "", children=[leaf] * 5)
    with pytest.raises(DataError, match="more than 4 edges"):
        linearize(BARE_DAG, root, max_nodes=4)


def test_a_refusal_leaves_a_linearizer_as_it_was():
    linearize = Linearizer(BINARY)
    before = linearize([(1, 2), 3])
    with pytest.raises(DataError):
        linearize([(1, 2), (3, 4, 5)])
    after = linearize([(1, 2), 3])
    assert before.rows.tolist() == after.rows.tolist() and before.keys == after.keys


def test_what_callers_code_raises_is_not_hidden():
    class Odd:
        @property
        def children(self):
            raise ValueError("out of order")

    for run in (Linearizer(TREE), lambda data: reference.linearize(TREE, data)):
        with pytest.raises(ValueError, match="out of order"):
            run([Odd()])


def test_an_object_that_cannot_be_printed_is_named_all_the_same():
    class Mute:
        left = right = None

        def __repr__(self):
            raise RuntimeError("no")

    node = Mute()
    node.left = Mute()
    assert "example: <" in str(check_against_reference(BINARY, node))
