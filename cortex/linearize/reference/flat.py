"""Reads sequences given as arrays, and Forests."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy.typing as npt

from cortex.ilir.plan import Plan, StructureKind
from cortex.linearize import faults
from cortex.linearize.faults import Place
from cortex.linearize.forest import Forest
from cortex.linearize.reference.structures import (
    ABSENT,
    ReadContext,
    Structure,
    StructureNode,
    finish,
    place_of,
)

Columns = dict[str, npt.NDArray[Any]]
"""Payloads by name, row by row of what they were given with; `StructureNode.key` is a node's index there."""


def read_array(array: npt.NDArray[Any], structure: int, context: ReadContext) -> tuple[Structure, Columns]:
    """Read a sequence: step t's only child is step t - 1."""
    place = Place(structure, None, "")
    if array.ndim == 1 and array.dtype.kind in "iu":
        name = "word"
    elif array.ndim == 2 and array.dtype.kind == "f":
        name = _vector_name(context.plan, place)
    else:
        raise faults.no_sequence(place, array.dtype, array.ndim, array)
    if not len(array):
        raise faults.empty_sequence(place)
    columns = {name: array}
    nodes: list[StructureNode] = []
    for step in range(len(array)):
        node = StructureNode(step, _carried(columns, step), f"step {step}")
        node.set_children([*nodes[-1:]])
        finish(context, structure, nodes, node)
    return Structure(nodes, nodes[-1:]), columns


def _vector_name(plan: Plan, place: Place) -> str:
    names = tuple(p.name for p in plan.payloads if len(p.shape) == 1 and p.dtype.is_float)
    if len(names) != 1:
        raise faults.no_vector_payload(place, names)
    return names[0]


def _carried(columns: Columns, index: int) -> Callable[[str], object]:
    return lambda name: columns[name][index] if name in columns else ABSENT


def read_forest(forest: Forest, structure: int, context: ReadContext) -> tuple[list[Structure], Columns]:
    """Read all structures of a Forest, of which `structure` is the first one's index in the batch."""
    begin, child, ranges = _check_topology(forest, structure)
    lists = [child[b:e] for b, e in pairwise(begin)]
    nodes = [
        StructureNode(v, _carried(forest.payloads, v), f"number {v} of the Forest") for v in range(len(lists))
    ]
    if ranges is None and context.plan.kind is StructureKind.DAG:
        ranges = [0, len(nodes)] if nodes else [0]
    has_parent = _check_children(lists, nodes, ranges, structure)
    roots = [v for v in range(len(nodes)) if not has_parent[v]]
    if ranges is None:
        groups = [[v] for v in roots]
    else:
        groups = [[v for v in roots if b <= v < e] for b, e in pairwise(ranges)]
    read: list[Structure] = []
    for group in groups:
        number = structure + len(read)
        if ranges is not None:
            _check_roots(group, number, context.plan, ranges[len(read)])
        read.append(_descend(lists, nodes, group, number, context))
        if ranges is not None:
            _check_reached(nodes[ranges[len(read) - 1] : ranges[len(read)]], number)
    _check_reached(nodes, structure)
    return read, forest.payloads


def _check_topology(forest: Forest, structure: int) -> tuple[list[int], list[int], list[int] | None]:
    place = Place(structure, None, "")
    begin, child = forest.child_begin.tolist(), forest.child.tolist()
    _check_offsets(place, "child_begin", begin, len(child))
    if forest.structure_begin is None:
        return begin, child, None
    ranges = forest.structure_begin.tolist()
    _check_offsets(place, "structure_begin", ranges, len(begin) - 1)
    for number, (low, high) in enumerate(pairwise(ranges)):
        if low == high:
            raise faults.forest_empty(Place(structure + number, None, ""))
    return begin, child, ranges


def _check_offsets(place: Place, name: str, offsets: list[int], end: int) -> None:
    if not offsets or offsets[0] != 0:
        raise faults.forest_begin(place, name, "it does not begin with 0")
    for i in range(1, len(offsets)):
        if offsets[i] < offsets[i - 1]:
            raise faults.forest_begin(place, name, f"it falls from {offsets[i - 1]} to {offsets[i]} at {i}")
    if offsets[-1] != end:
        raise faults.forest_begin(place, name, f"it ends with {offsets[-1]}, and divides {end}")


def _check_children(
    lists: list[list[int]], nodes: list[StructureNode], ranges: list[int] | None, structure: int
) -> list[bool]:
    """Check that children are nodes of their parents' structures; return which nodes have a parent."""
    has_parent = [False] * len(nodes)
    spans = [(0, len(nodes))] if ranges is None else list(pairwise(ranges))
    for number, (low, high) in enumerate(spans):
        for v in range(low, high):
            for child in lists[v]:
                if child != -1 and not low <= child < high:
                    place = Place(structure + number, None, nodes[v].where())
                    raise faults.forest_child(place, child, low, high)
                if child != -1:
                    has_parent[child] = True
    return has_parent


def _check_roots(roots: list[int], structure: int, plan: Plan, first: int) -> None:
    place = Place(structure, None, "")
    if not roots:
        raise faults.forest_cycle(place, first)
    if len(roots) > 1 and plan.kind is not StructureKind.DAG:
        raise faults.forest_roots(place, roots[0], roots[1], plan)


def _check_reached(nodes: list[StructureNode], structure: int) -> None:
    for node in nodes:
        if node.row < 0:
            raise faults.forest_cycle(Place(structure, None, ""), int(str(node.key)))


def _descend(
    lists: list[list[int]], nodes: list[StructureNode], roots: list[int], structure: int, context: ReadContext
) -> Structure:
    rows: list[StructureNode] = []
    open_nodes: set[int] = set()
    for root in roots:
        stack: list[tuple[int, list[StructureNode | None]]] = [(root, [])]
        open_nodes.add(root)
        while stack:
            v, children = stack[-1]
            if len(children) == len(lists[v]):
                nodes[v].set_children(children)
                finish(context, structure, rows, nodes[v])
                open_nodes.discard(v)
                stack.pop()
                continue
            child = lists[v][len(children)]
            if child == -1:
                children.append(None)
                continue
            children.append(nodes[child])
            if child in open_nodes:
                raise faults.cycle(place_of(structure, nodes[child]), child)
            if nodes[child].row < 0:
                open_nodes.add(child)
                stack.append((child, []))
            elif context.plan.kind is not StructureKind.DAG:
                raise faults.shared(Place(structure, None, nodes[child].where()), None, child)
    return Structure(rows, [nodes[root] for root in roots])
