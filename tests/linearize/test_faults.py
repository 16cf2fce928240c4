"""Each message, whole: one illegal batch for each, refused alike by both linearizers."""

from __future__ import annotations

import pytest

from cortex.ilir.plan import Plan, StructureKind
from cortex.linearize import Linearizer, faults, reference
from cortex.linearize._native import Engine
from ragged.errors import DataError
from tests.linearize.illegal import CASES
from tests.linearize.support import BINARY, TREE, check_against_reference

HELPERS = {"Names", "Place", "path", "graph_node"}
ELSEWHERE = {"too_large"}
BARE_DAG = Plan(StructureKind.DAG, 0, None, (), ())


@pytest.mark.parametrize("name", CASES)
def test_message(name, golden):
    case = CASES[name]
    text = check_against_reference(case.plan, case.make(), **case.options)
    assert isinstance(text, str), "it was taken"
    golden(f"{name}.txt", text + "\n")


def test_every_message_has_its_case():
    assert set(faults.__all__) - HELPERS - ELSEWHERE == {name.partition(".")[0] for name in CASES}


@pytest.mark.parametrize("data", [(1, (2, 3)), [1, 2, 3, 4, 5]])
def test_more_nodes_than_numbers(data, golden):
    with pytest.raises(DataError) as refused:
        Engine(TREE, None, None, 4).linearize(data)
    golden("too_large.txt", f"{refused.value}\n")


def test_more_edges_than_numbers():
    node = reference.StructureNode  # any object with children will do
    leaf = node(None, lambda name: None, "")
    root = node(None, lambda name: None, "", children=[leaf] * 5)
    with pytest.raises(DataError, match="more than 4 edges"):
        Engine(BARE_DAG, None, None, 4).linearize(root)


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
