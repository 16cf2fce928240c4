"""Reads networkx graphs: an edge from each node to each of its children, payloads as attributes."""

from __future__ import annotations

import sys
from collections.abc import Callable
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


def is_graph(value: object) -> bool:
    """Return whether the value is a graph of networkx; no value is while networkx is not imported."""
    module: Any = sys.modules.get("networkx")
    return module is not None and isinstance(value, module.Graph)


def read_graph(graph: Any, structure: int, context: ReadContext) -> Structure:
    """Read one structure, keyed by the graph's nodes; roots and children are in the order of insertion."""
    place = Place(structure, None, "")
    if graph.is_multigraph() or not graph.is_directed():
        raise faults.graph_kind(place, graph, graph.is_multigraph())
    nodes = {
        key: StructureNode(key, _carried(attributes, context), faults.graph_node(key))
        for key, attributes in graph.nodes(data=True)
    }
    if not nodes:
        raise faults.graph_empty(place)
    roots = [node for key, node in nodes.items() if graph.in_degree(key) == 0]
    if len(roots) > 1 and context.plan.kind is not StructureKind.DAG:
        raise faults.graph_roots(place, roots[0].key, roots[1].key, context.plan)
    rows: list[StructureNode] = []
    for root in roots:
        _descend(graph, nodes, root, rows, structure, context)
    for node in nodes.values():
        if node.row < 0:
            raise faults.graph_cycle(place, node.key)
    return Structure(rows, roots)


def _carried(attributes: dict[str, object], context: ReadContext) -> Callable[[str], object]:
    return lambda name: attributes.get(context.payload_names.get(name, name), ABSENT)


def _descend(
    graph: Any,
    nodes: dict[object, StructureNode],
    root: StructureNode,
    rows: list[StructureNode],
    structure: int,
    context: ReadContext,
) -> None:
    stack = [(root, [nodes[key] for key in graph.successors(root.key)])]
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
        if child in open_nodes:
            raise faults.cycle(place_of(structure, child), child.key)
        if child.row < 0:
            open_nodes.add(child)
            stack.append((child, [nodes[key] for key in graph.successors(child.key)]))
        elif context.plan.kind is not StructureKind.DAG:
            raise faults.shared(Place(structure, None, child.where()), child.row, child.key)
