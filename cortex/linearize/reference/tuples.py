"""Reads ints and tuples: values, so that nothing in them is ever shared."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cortex.linearize import faults
from cortex.linearize.reference.structures import (
    ABSENT,
    ReadContext,
    Structure,
    StructureNode,
    carries_nothing,
    finish,
    place_of,
)


@dataclass(slots=True)
class _Frame:
    node: StructureNode
    elements: tuple[object, ...]
    children: list[StructureNode | None] = field(default_factory=list)


def is_int(value: object) -> bool:
    """Whether a value is a leaf of its own: an int or a NumPy integer, and no bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def read_tuple(root: object, structure: int, context: ReadContext) -> Structure:
    """Read one structure of nested tuples, or of a single int."""
    nodes: list[StructureNode] = []
    stack: list[_Frame] = []
    _enter(root, StructureNode(root, carries_nothing, "root"), stack, nodes, structure, context)
    while stack:
        frame = stack[-1]
        if len(frame.children) == len(frame.elements):
            frame.node.set_children(frame.children)
            finish(context, structure, nodes, frame.node)
            stack.pop()
            continue
        element = frame.elements[len(frame.children)]
        if element is None:
            frame.children.append(None)
            continue
        node = StructureNode(element, carries_nothing, f"[{len(frame.children)}]", frame.node)
        frame.children.append(node)
        _enter(element, node, stack, nodes, structure, context)
    return Structure(nodes, nodes[-1:])


def _enter(
    value: object,
    node: StructureNode,
    stack: list[_Frame],
    nodes: list[StructureNode],
    structure: int,
    context: ReadContext,
) -> None:
    if is_int(value):
        node.carried = lambda name: value if name == "word" else ABSENT
        finish(context, structure, nodes, node)
    elif type(value) is not tuple:
        raise faults.tuple_element(place_of(structure, node), value)
    elif not value:
        raise faults.empty_tuple(place_of(structure, node))
    else:
        stack.append(_Frame(node, value))
