"""Reads nltk.Tree, and what is like it: a list with a label, over subtrees or over the one word of a leaf."""

from __future__ import annotations

from cortex.linearize import faults
from cortex.linearize.faults import Place
from cortex.linearize.reference.objects import PendingNode, descend
from cortex.linearize.reference.structures import (
    ABSENT,
    ReadContext,
    Structure,
    StructureNode,
    place_of,
    word_row,
)


def is_labelled(value: object) -> bool:
    """Whether the value is a list of a type of its own that has labels."""
    return isinstance(value, list) and type(value) is not list and hasattr(type(value), "label")


def read_labelled(root: object, structure: int, context: ReadContext) -> Structure:
    """Read one tree, keyed by its labelled subtrees; the vocabulary numbers its words as in a text."""
    if context.vocab is None and context.plan.payload("word") is not None:
        raise faults.labelled_vocabulary(Place(structure, None, ""), root)
    return descend(root, structure, context, _enter)


def _enter(value: object, node: StructureNode, structure: int, context: ReadContext) -> PendingNode:
    if not isinstance(value, list) or not is_labelled(value):
        raise faults.labelled_child(place_of(structure, node), value)
    match value:
        case []:
            raise faults.labelled_content(place_of(structure, node), value)
        case [str() as word]:
            node.carried = lambda name: _number(name, word, node, structure, context)
            return PendingNode(node, [])
        case _:
            return PendingNode(node, [(f"[{i}]", child) for i, child in enumerate(value)])


def _number(name: str, word: str, node: StructureNode, structure: int, context: ReadContext) -> object:
    """Return the leaf's number as its payload `word`; whatever is asked for, the word must have one."""
    if context.plan.payload("word") is None:
        return ABSENT
    row = word_row(word, node, structure, context)
    return row if name == "word" else ABSENT
