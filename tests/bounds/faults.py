"""Faults in linearized batches: for each fact what makes of a batch one in which that fact does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cortex.linearize import Linearized
from tests.bounds.five import V

Break = Callable[[Linearized], Linearized]


def with_value(name: str, place: int, value: int) -> Break:
    """Return what exchanges one value of an array."""

    def change(given: Linearized) -> Linearized:
        array = getattr(given, name).copy()
        array[place] = value
        return given.replace(**{name: array})

    return change


def child_at(position: int, node: int, target: Callable[[Linearized], int]) -> Break:
    """Return what lets a node's child at a position be another one."""

    def change(given: Linearized) -> Linearized:
        name = ("left", "right")[position]
        array = getattr(given, name).copy()
        array[node] = target(given)
        return given.replace(**{name: array})

    return change


def word_at(place: int, value: int) -> Break:
    def change(given: Linearized) -> Linearized:
        array = given.payloads["word"].copy()
        array[place] = value
        return given.replace(payloads={**given.payloads, "word": array})

    return change


def listed(change: Callable[[Any, int, Linearized], tuple[Any, int]]) -> Break:
    """Return what exchanges the list of nodes that carry a word, and how many of them are inner nodes."""

    def made(given: Linearized) -> Linearized:
        nodes, inner = change(given.with_word.copy(), given.num_inner_with_word, given)
        return given.replace(with_word=nodes, num_inner_with_word=inner)

    return made


def placed(node: int, value: Callable[[Linearized], int]) -> Break:
    """Return what gives a node another place among those that carry a word."""

    def made(given: Linearized) -> Linearized:
        return given.replace(place_with_word=put(given.place_with_word.copy(), node, value(given)))

    return made


def put(array: Any, place: int, value: int) -> Any:
    array[place] = value
    return array


def neighbours(given: Linearized) -> int:
    """Return a node of height 1 before another of height 1: neither may read the other."""
    assert given.batch_length[1] > 1
    return int(given.batch_begin[1])


def first_edge(given: Linearized, node: int) -> int:
    return int(given.child_begin[node])


def in_its_own_batch(position: int) -> Break:
    return lambda given: child_at(position, neighbours(given), lambda g: neighbours(g) + 1)(given)


def of_node(position: int) -> list[Break]:
    return [
        child_at(position, 0, lambda given: 0),
        child_at(position, 1, lambda given: 0),
        child_at(position, 0, lambda given: -1),
        child_at(position, 2, lambda given: given.num_nodes),
        child_at(position, 0, lambda given: 2**31 - 1),
    ]


def begins(node: int, value: Callable[[Linearized], int]) -> Break:
    """Return what lets a node's vector begin somewhere else."""

    def made(given: Linearized) -> Linearized:
        return given.replace(begin_of_x=put(given.begin_of_x.copy(), node, value(given)))

    return made


NOTHING = np.zeros(0, np.int32)
BREAK: dict[str, list[Break]] = {
    "Range of num_batches": [
        lambda given: given.replace(
            num_batches=0, batch_begin=given.batch_begin[:0], batch_length=given.batch_begin[:0]
        ),
    ],
    "Tiling of batch_begin": [
        with_value("batch_begin", 0, 0),
        with_value("batch_begin", -1, 1),
        with_value("batch_length", 0, -1),
        with_value("batch_length", 1, 2**31 - 1),
        with_value("batch_begin", 1, 2**31 - 1),
        with_value("batch_begin", 1, -(2**31)),
        lambda given: given.replace(batch_begin=given.batch_begin + np.int32(1)),
        lambda given: given.replace(batch_begin=np.roll(given.batch_begin, 1)),
    ],
    "Range of batch_edges": [
        lambda given: given.replace(widest_edges=given.widest_edges - 1),
        lambda given: given.replace(widest_edges=-1),
        with_value("batch_begin", 1, 2**31 - 1),
        with_value("batch_length", 0, -(2**31)),
    ],
    "Range of word": [
        word_at(-1, V),
        word_at(-1, -2),
        word_at(-1, -(2**31)),
        word_at(0, -2),
        word_at(0, 2**31 - 1),
    ],
    "Range of left": of_node(0),
    "Range of right": of_node(1),
    "Follows of left": [in_its_own_batch(0)],
    "Follows of right": [in_its_own_batch(1)],
    "Range of child": [
        with_value("child", 0, -1),
        lambda given: with_value("child", 0, given.num_nodes)(given),
        with_value("child", -1, 2**31 - 1),
    ],
    "Follows of child": [
        with_value("child", 0, 0),
        lambda given: with_value("child", first_edge(given, neighbours(given)), neighbours(given) + 1)(given),
    ],
    "Range of child_begin": [
        with_value("child_begin", 0, -1),
        with_value("child_begin", 1, 2**31 - 1),
        lambda given: with_value("child_begin", 1, given.num_edges + 1)(given),
    ],
    "PrefixSum of child_begin": [with_value("child_begin", 0, 1), with_value("child_begin", 2, 0)],
    "Range of with_word": [
        listed(lambda nodes, inner, given: (put(nodes, -1, given.num_nodes), inner)),
        listed(lambda nodes, inner, given: (put(nodes, 0, -1), inner)),
    ],
    "Range of place_with_word": [
        placed(0, lambda given: given.num_with_word + 1),
        placed(2, lambda given: -1),
    ],
    "Range of begin_of_x": [
        begins(0, lambda given: -1),
        begins(2, lambda given: given.payloads["x"].size - given.payloads["x"].shape[1] + 1),
        begins(-1, lambda given: 2**62),
    ],
    "Range of num_inner_with_word": [
        listed(lambda nodes, inner, given: (nodes, len(nodes) + 1)),
        listed(lambda nodes, inner, given: (nodes, -1)),
    ],
}
"""For each fact its faults: what makes of a batch one in which the fact does not hold."""
