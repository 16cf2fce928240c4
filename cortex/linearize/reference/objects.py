"""Reads objects that hold their children in attributes, and dicts that hold them under keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cortex.ilir.plan import StructureKind
from cortex.linearize import faults
from cortex.linearize.faults import Names
from cortex.linearize.reference.structures import (
    ABSENT,
    ReadContext,
    Structure,
    StructureNode,
    carries_nothing,
    finish,
    place_of,
)

Steps = list[tuple[str, object]]
"""The children of an object, None for a missing one, each with its step from the parent."""


@dataclass(slots=True)
class PendingNode:
    """A node on the stack of the walk: its children are being read."""

    node: StructureNode
    steps: Steps
    children: list[StructureNode | None] = field(default_factory=list)


Enter = Callable[[object, StructureNode, int, ReadContext], PendingNode]
"""Says what an object's children are, and what the node carries; refuses what is no node."""


def has_children(value: object, names: Names) -> bool:
    """Whether the object has the attributes that hold children; a dict of which the keys are named may be a leaf."""
    return _attributes(value, names) is not None or (isinstance(value, dict) and names is not None)


def _attributes(value: object, names: Names) -> tuple[str, object] | Steps | None:
    """Return one name and what holds the children, or the child under each of several names."""
    if names is None:
        return _attributes(value, "children") or _attributes(value, ("left", "right"))
    if isinstance(names, str):
        children = _attribute(value, names)
        return None if children is ABSENT else (names, children)
    steps: Steps = [(f".{name}", _attribute(value, name)) for name in names]
    if isinstance(value, dict) and any(dict.__contains__(value, name) for name in names):
        return [(step, None if child is ABSENT else child) for step, child in steps]
    return None if any(child is ABSENT for _, child in steps) else steps


def _attribute(value: object, name: str) -> object:
    return dict.get(value, name, ABSENT) if isinstance(value, dict) else getattr(value, name, ABSENT)


def read_object(root: object, structure: int, context: ReadContext) -> Structure:
    """Read one structure of objects that hold their children in attributes."""
    return descend(root, structure, context, _enter)


def descend(root: object, structure: int, context: ReadContext, enter: Enter) -> Structure:
    """Read one structure depth first on a stack of its own; objects met twice are one node."""
    nodes: list[StructureNode] = []
    seen: dict[int, StructureNode] = {}
    top = enter(root, StructureNode(root, carries_nothing, "root"), structure, context)
    seen[id(root)] = top.node
    stack = [top]
    while stack:
        frame = stack[-1]
        if len(frame.children) == len(frame.steps):
            frame.node.set_children(frame.children)
            finish(context, structure, nodes, frame.node)
            stack.pop()
            continue
        step, child = frame.steps[len(frame.children)]
        if child is None:
            frame.children.append(None)
            continue
        known = seen.get(id(child))
        node = StructureNode(child, carries_nothing, step, frame.node)
        if known is None:
            stack.append(enter(child, node, structure, context))
            seen[id(child)] = known = node
        elif known.row < 0:
            raise faults.cycle(place_of(structure, node), child)
        elif context.plan.kind is not StructureKind.DAG:
            raise faults.shared(place_of(structure, node), known.row, child)
        frame.children.append(known)
    return Structure(nodes, nodes[-1:])


def _enter(value: object, node: StructureNode, structure: int, context: ReadContext) -> PendingNode:
    node.carried = lambda name: _attribute(value, context.payload_names.get(name, name))
    found = _attributes(value, context.names)
    if found is None and isinstance(value, dict):
        return PendingNode(node, [])
    if found is None:
        raise faults.not_a_node(place_of(structure, node), value, context.names)
    if isinstance(found, list):
        return PendingNode(node, found)
    name, children = found
    if children is None:
        return PendingNode(node, [])
    if not isinstance(children, list | tuple):
        try:
            iterator = iter(children)  # type: ignore[call-overload]
        except TypeError:
            place = place_of(structure, node)
            raise faults.children_not_iterable(place, value, name, children) from None
        children = list(iterator)
    return PendingNode(node, [(f".{name}[{i}]", child) for i, child in enumerate(children)])
