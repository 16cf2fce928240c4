"""Callers' own objects: names of attributes, and forms in which payloads come."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from cortex.ilir.plan import Payload, Presence
from cortex.linearize import Linearized, Node, linearize
from ragged.errors import DataError
from ragged.ir.dtype import DType
from tests.linearize.support import BINARY, TREE, carrying, check_against_reference, vector, word
from tests.support.with_torch import needs_torch, tensor, torch


@dataclass
class Kid:
    kids: list
    word: int = -1


@dataclass(slots=True)
class Fork:
    l: object = None  # noqa: E741
    r: object = None
    word: int = 3


def rows(result: Linearized | str, name: str) -> np.ndarray:
    assert isinstance(result, Linearized), result
    return result.payloads[name][result.rows]


def test_names_of_a_list_of_children():
    data = Kid([Kid([], 1), Kid([], 2)])
    assert rows(check_against_reference(BINARY, data, children="kids"), "word").tolist() == [1, 2, -1]


def test_names_of_each_child():
    plan = carrying(word(Presence.ALL))
    result = check_against_reference(plan, Fork(Fork(), Fork(None, Fork())), children=("l", "r"))
    assert rows(result, "word").tolist() == [3, 3, 3, 3]


def test_children_of_none_are_a_leaf():
    assert rows(check_against_reference(TREE, SimpleNamespace(children=None, word=4)), "word").tolist() == [4]


def test_children_come_before_left_and_right():
    node = SimpleNamespace(children=[], left=5, right=6, word=1)
    assert isinstance(check_against_reference(TREE, node), Linearized)


def test_named_tuples_with_children_are_objects():
    Leaf = namedtuple("Leaf", ["children", "word"])
    shared = Leaf((), 4)
    assert "shared by two parents" in str(check_against_reference(TREE, Leaf((shared, shared), 1)))


@pytest.mark.parametrize("children", ["", (), ("a", 3), 5, ["a"]])
def test_names_that_are_none(children):
    with pytest.raises(DataError, match="names no attributes"):
        linearize(TREE, 1, children=children)


def test_a_vocabulary_is_a_vocab():
    with pytest.raises(DataError, match="vocab is of type dict"):
        linearize(TREE, 1, vocab={"a": 1})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [3, np.int8(3), np.uint64(3), np.array(3), *tensor(lambda torch: torch.tensor(3))]
)
def test_integers(value):
    assert rows(check_against_reference(TREE, Node(word=value)), "word").tolist() == [3]


@pytest.mark.parametrize(
    "value",
    [
        *(True, np.True_, np.array(True), 3.0, np.float32(3), "3", np.array([1, 2]), np.array([3])),
        *tensor(lambda torch: torch.tensor(True)),
        *tensor(lambda torch: torch.tensor([3])),
        *tensor(lambda torch: torch.tensor([[3]])),
    ],
)
def test_what_is_no_integer(value):
    assert "not an integer" in str(check_against_reference(TREE, Node(word=value)))


X = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize(
    "value",
    [
        X[1],
        np.repeat(X[1], 3)[::3],
        X[1][::-1].copy()[::-1],
        np.broadcast_to(np.float32(4), 3),
        *tensor(lambda torch: torch.tensor([3.0, 4.0, 5.0])),
        memoryview(X[1]),
        [3.0, 4, np.float32(5)],
        [np.float32(3), np.float64(4), 5.0],
        (3.0, 4.0, 5.0),
    ],
)
def test_vectors(value):
    result = check_against_reference(carrying(vector(Presence.ALL)), Node(x=value))
    np.testing.assert_array_equal(rows(result, "x")[0], np.asarray(value, np.float32))


def test_read_only_memory_is_read():
    frozen = X[2].copy()
    frozen.flags.writeable = False
    assert rows(check_against_reference(carrying(vector(Presence.ALL)), Node(x=frozen)), "x").tolist() == [
        [6, 7, 8]
    ]


def test_payloads_are_copied():
    x = X[0].copy()
    result = linearize(carrying(vector(Presence.ALL)), Node(x=x))
    x[:] = 9
    assert result.payloads["x"].tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("value", [2, 2.5, np.float32(2.5), np.int8(2), np.array(2.5, np.float32)])
def test_scalar_floats(value):
    plan = carrying(Payload("weight", DType.FLOAT32, (), Presence.ALL, 0.0, None))
    assert rows(check_against_reference(plan, Node(weight=value)), "weight").tolist() == [float(value)]


def test_payloads_that_a_plan_does_not_ask_for_are_ignored():
    assert isinstance(check_against_reference(TREE, Node([Node(y="?")], x=object(), word=1)), Linearized)


@needs_torch
def test_a_tensor_that_cannot_be_read_says_why():
    sparse = torch.zeros(3).to_sparse()
    text = str(check_against_reference(carrying(vector(Presence.ALL)), Node(x=sparse)))
    assert "Sparse" in text and "fix" in text


def test_a_payload_in_the_place_of_children():
    with pytest.raises(DataError, match="Node: 3 is no sequence of children"):
        Node(3)
    with pytest.raises(TypeError, match="unsupported"):
        Node(Node(word=None + 1) for _ in range(2))
