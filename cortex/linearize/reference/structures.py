"""Structures in a plain form, whatever they were read from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cortex.ilir.plan import Plan
from cortex.linearize import faults
from cortex.linearize.faults import Names, Place, path
from cortex.linearize.vocab import Vocab

ABSENT = object()
"""A payload that a node does not have, not even as None."""


def carries_nothing(name: str) -> object:
    """Return `ABSENT` for every payload."""
    return ABSENT


@dataclass(slots=True, eq=False)
class StructureNode:
    """A node: its children in order (None where one is missing and later ones are not), and what it carries.

    `key` is what the caller knows it by. `row` is its post-order row in its structure. `carried(name)` gives a
    payload as the caller wrote it, or `ABSENT`.
    """

    key: object
    carried: Callable[[str], object]
    step: str
    parent: StructureNode | None = None
    children: list[StructureNode | None] = field(default_factory=list)
    row: int = -1

    @property
    def is_leaf(self) -> bool:
        """Whether it has no children."""
        return not self.children

    def payload(self, name: str) -> object:
        """Return the payload of that name as the caller wrote it, or None if the node carries none."""
        value = self.carried(name)
        return None if value is ABSENT else value

    def names_payload(self, name: str) -> bool:
        """Whether the node has a payload of that name, if only as None."""
        return self.carried(name) is not ABSENT

    def where(self) -> str:
        """Say where the node is: the path of the first visit, or a place in a text, array or Forest."""
        steps = [self.step]
        node = self.parent
        while node is not None:
            steps.append(node.step)
            node = node.parent
        return path(steps[::-1])

    def set_children(self, children: list[StructureNode | None]) -> None:
        """Take the children; missing ones behind the last say nothing and are dropped."""
        while children and children[-1] is None:
            children.pop()
        self.children = children


@dataclass(slots=True, eq=False)
class Structure:
    """A structure: its nodes in post-order (rows), and its roots."""

    nodes: list[StructureNode]
    roots: list[StructureNode]


Visit = Callable[[int, StructureNode], None]
"""What is done with (structure, node) when all below the node is read."""


@dataclass(frozen=True, slots=True)
class ReadContext:
    """What readers know beside the object that they read."""

    plan: Plan
    vocab: Vocab | None
    names: Names
    visit: Visit
    payload_names: Mapping[str, str] = field(default_factory=dict)


def finish(context: ReadContext, structure: int, nodes: list[StructureNode], node: StructureNode) -> None:
    """Assign the next row to a node after its children, and visit it."""
    node.row = len(nodes)
    nodes.append(node)
    context.visit(structure, node)


def place_of(structure: int, node: StructureNode) -> Place:
    """Return where a node is, with its row if it has one."""
    return Place(structure, None if node.row < 0 else node.row, node.where())


def word_row(word: str, node: StructureNode, structure: int, context: ReadContext) -> int:
    """Return the number that the vocabulary gives a leaf's word; the model reads words."""
    vocab, payload = context.vocab, context.plan.payload("word")
    assert vocab is not None and payload is not None
    row = vocab.rows.get(word, vocab.unknown)
    if row is None:
        raise faults.unknown_word(f"linearize: {place_of(structure, node)}", word)
    if payload.range is not None and row >= payload.range[1]:
        raise faults.no_row(place_of(structure, node), payload, word, row)
    return row
