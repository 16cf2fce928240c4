"""Reads networkx graphs: an edge from each node to each child, payloads and positions of children as attributes."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any

from cortex.ilir.plan import StructureKind
from cortex.linearize import faults
from cortex.linearize.faults import Place
from cortex.linearize.reference.structures import (
    ABSENT,
    ReadContext,
    Structure,
    StructureNode,
    finish,
    place_of,
)

POSITION, MOST_POSITIONS = "position", 2**16
"""The attribute of an edge, and the number of positions that a node may have."""


def is_graph(value: object) -> bool:
    """Return whether the value is a graph of networkx; no value is while networkx is not imported."""
    module: Any = sys.modules.get("networkx")
    return module is not None and isinstance(value, module.Graph)


def read_graph(graph: Any, structure: int, context: ReadContext) -> Structure:
    """Read one structure, keyed by the graph's nodes; roots and children are in the order of insertion.

    Where the model reads children by position, edges may say these.
    """
    place = Place(structure, None, "")
    if graph.is_multigraph() or not graph.is_directed():
        raise faults.graph_kind(place, graph, graph.is_multigraph())
    nodes = {
        key: StructureNode(key, _carried(attributes, context), faults.graph_node(key))
        for key, attributes in graph.nodes(data=True)
    }
    below = {key: _children(graph, key, nodes, structure, context) for key in nodes}
    if not nodes:
        raise faults.graph_empty(place)
    roots = [node for key, node in nodes.items() if graph.in_degree(key) == 0]
    if len(roots) > 1 and context.plan.kind is not StructureKind.DAG:
        raise faults.graph_roots(place, roots[0].key, roots[1].key, context.plan)
    rows: list[StructureNode] = []
    for root in roots:
        _descend(below, root, rows, structure, context)
    for node in nodes.values():
        if node.row < 0:
            raise faults.graph_cycle(place, node.key)
    return Structure(rows, roots)


def _carried(attributes: dict[str, object], context: ReadContext) -> Callable[[str], object]:
    return lambda name: attributes.get(context.payload_names.get(name, name), ABSENT)


def _children(
    graph: Any, parent: object, nodes: dict[object, StructureNode], structure: int, context: ReadContext
) -> list[StructureNode | None]:
    """Return a node's children by position; None where there is none."""
    edges = [(nodes[key], graph.edges[parent, key]) for key in graph.successors(parent)]
    if not context.plan.positions or not any(POSITION in edge for _, edge in edges):
        return [child for child, _ in edges]
    children: list[StructureNode | None] = []
    for child, edge in edges:
        given = edge.get(POSITION)
        position = operator.index(given) if hasattr(given, "__index__") else -1
        taken = 0 <= position < len(children) and children[position] is not None
        if not 0 <= position < MOST_POSITIONS or taken:
            raise faults.graph_position(Place(structure, None, faults.graph_node(parent)), child.key, given)
        children += [None] * (position + 1 - len(children))
        children[position] = child
    return children


def _descend(
    below_of: Mapping[object, list[StructureNode | None]],
    root: StructureNode,
    rows: list[StructureNode],
    structure: int,
    context: ReadContext,
) -> None:
    stack = [(root, below_of[root.key])]
    open_nodes = {root}
    while stack:
        node, below = stack[-1]
        if len(node.children) == len(below):
            finish(context, structure, rows, node)
            open_nodes.discard(node)
            stack.pop()
            continue
        child = below[len(node.children)]
        node.children.append(child)
        if child is None:
            continue
        if child in open_nodes:
            raise faults.cycle(place_of(structure, child), child.key)
        if child.row < 0:
            open_nodes.add(child)
            stack.append((child, below_of[child.key]))
        elif context.plan.kind is not StructureKind.DAG:
            raise faults.shared(Place(structure, None, child.where()), child.row, child.key)
