"""Numbers the nodes of a batch as Appendix B of the CORTEX paper says, and lays out the arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate, chain, groupby
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from cortex.ilir.index_arrays import IndexArray, IndexKind, index_arrays
from cortex.ilir.plan import Plan
from cortex.linearize.reference.structures import Structure, StructureNode
from cortex.linearize.result import Linearized
from tests.linearize.storage import by_use, last_needed, storage_begins

_K = IndexKind

Values = dict[str, list[npt.NDArray[Any]]]
"""Each payload, row by row of the whole batch."""


def number(plan: Plan, structures: list[Structure], values: Values) -> Linearized:
    """Sort the nodes by falling height, then batch, class, structure, row, and write all arrays by that number.

    Inner nodes of one height are divided into batches of the plan's `widest` before, by structure and row. Where
    storage is recycled, the nodes of one class are sorted by when they are needed last instead.
    """
    nodes = [node for structure in structures for node in structure.nodes]
    height: dict[StructureNode, int] = {}
    for node in nodes:
        height[node] = max((1 + height[child] for child in node.children if child is not None), default=0)
    batch = height if plan.widest is None else _divided(height, plan.widest)
    classes = [_class_of(plan, node, {p: values[p][row] for p in values}) for row, node in enumerate(nodes)]
    rows = {node: row for row, node in enumerate(nodes)}
    last = last_needed(
        [[rows[child] for child in node.children if child is not None] for node in nodes],
        [batch[node] for node in nodes],
        [rows[root] for structure in structures for root in structure.roots],
    )
    order = sorted(rows.values(), key=lambda row: (-batch[nodes[row]], classes[row]))
    if plan.recycled:
        alike = groupby(order, key=lambda row: (batch[nodes[row]], classes[row]))
        order = [row for _, group in alike for row in by_use([*group], last)]
    node_id = {nodes[row]: n for n, row in enumerate(order)}
    sorted_nodes = [nodes[row] for row in order]
    children = [[node_id[child] for child in node.children if child is not None] for node in sorted_nodes]
    inner = [node for node in sorted_nodes if not node.is_leaf]
    payloads = {p.name: _by_id(plan, p.name, [values[p.name][row] for row in order]) for p in plan.payloads}
    length = np.bincount([batch[node] for node in nodes], minlength=1)
    begin = len(nodes) - np.cumsum(length)
    storage: tuple[int, tuple[int, ...]] = (0, ())
    if plan.recycled:
        storage = storage_begins(begin.tolist(), length.tolist(), [last[row] for row in order])
    tops = _tops(plan, sorted_nodes, height)
    top_nodes = list(chain.from_iterable(tops))
    edges = [_edges_between(children, b, n) for b, n in zip(begin, length, strict=True)]
    class_length = _class_lengths(plan, [batch[node] for node in nodes], classes, len(length))
    roots = _ints([node_id[root] for structure in structures for root in structure.roots])

    owner = {node: number for number, structure in enumerate(structures) for node in structure.nodes}

    def carried(array: IndexArray) -> list[int]:
        return [node for node, value in enumerate(payloads[array.payload or ""]) if value >= 0]

    def place(array: IndexArray) -> npt.NDArray[np.int32]:
        carriers = carried(array)
        return _ints([carriers.index(n) + 1 if n in carriers else 0 for n in range(len(nodes))])

    def storage_row(array: IndexArray) -> npt.NDArray[np.int32]:
        rows_of_batches = reversed([*zip(storage[1], length, strict=True)])
        return _ints(list(chain.from_iterable(range(s, s + n) for s, n in rows_of_batches)))

    fill: dict[IndexKind, Callable[[IndexArray], int | npt.NDArray[Any]]] = {
        _K.NUM_NODES: lambda array: len(nodes),
        _K.NUM_INNER: lambda array: len(inner),
        _K.NUM_EDGES: lambda array: sum(map(len, children)),
        _K.NUM_BATCHES: lambda array: len(length),
        _K.NUM_ROOTS: lambda array: len(roots),
        _K.WIDEST_NODES: lambda array: max(length[1:].tolist(), default=0),
        _K.WIDEST_EDGES: lambda array: max(edges, default=0),
        _K.BATCH_BEGIN: lambda array: _ints(begin),
        _K.BATCH_LENGTH: lambda array: _ints(length),
        _K.CHILD_BEGIN: lambda array: _offsets(children),
        _K.CHILD: lambda array: _ints(list(chain.from_iterable(children))),
        _K.ROOTS: lambda array: roots,
        _K.POSITION: lambda array: _ints([_child_at(node, array.number or 0, node_id) for node in inner]),
        _K.NUM_CARRIERS: lambda array: len(carried(array)),
        _K.NUM_INNER_CARRIERS: lambda array: sum(node < len(inner) for node in carried(array)),
        _K.CARRIER: lambda array: _ints(carried(array)),
        _K.CARRIER_PLACE: place,
        _K.NUM_STEPS: lambda array: len(tops),
        _K.NUM_TOPS: lambda array: len(top_nodes),
        _K.TOP_BEGIN: lambda array: _offsets(tops),
        _K.STEP_TOP: lambda array: _ints(top_nodes),
        _K.HEIGHT: lambda array: _ints([height[node] for node in sorted_nodes]),
        _K.STEP_GROUP: lambda array: _ints(_groups(top_nodes, sorted_nodes, node_id)),
        _K.CLASS_LENGTH: lambda array: class_length[array.number or 0],
        _K.STRUCTURE_COUNT: lambda array: len(structures),
        _K.MEMBER_BEGIN: lambda array: _offsets([structure.nodes for structure in structures]),
        _K.MEMBER: lambda array: _ints([node_id[node] for node in nodes]),
        _K.STRUCTURE_OF: lambda array: _ints([owner[node] for node in sorted_nodes]),
        _K.STORAGE_ROWS: lambda array: storage[0],
        _K.STORAGE_BEGIN: lambda array: _ints(storage[1]),
        _K.STORAGE_ROW: storage_row,
        _K.PAYLOAD_BEGIN: lambda array: (
            np.arange(len(nodes), dtype=np.int64) * prod(payloads[array.payload or ""].shape[1:])
        ),
        _K.PAYLOAD_SIZE: lambda array: payloads[array.payload or ""].size,
    }
    return Linearized(
        plan,
        len(structures),
        {array.name: fill[array.kind](array) for array in index_arrays(plan)},
        payloads,
        root_begin=_offsets([structure.roots for structure in structures]),
        rows=_ints([node_id[node] for node in nodes]),
        row_begin=_offsets([structure.nodes for structure in structures]),
        row_keys=[node.key for node in nodes],
    )


def _divided(height: Mapping[StructureNode, int], widest: int) -> dict[StructureNode, int]:
    """Return the batch of each node: those of each height are as many as it takes, none of more inner nodes.

    Each has a part of each quarter of the nodes, so that the worker that computes the first nodes of a batch computed
    their children too.
    """
    batch = {node: 0 for node in height}
    first = 1
    for each in range(1, max(height.values(), default=0) + 1):
        alike = [node for node, own in height.items() if own == each]
        quarters = np.array_split(np.arange(len(alike)), 4 if 4 <= widest < len(alike) else 1)
        part = widest // len(quarters)
        for quarter in quarters:
            batch |= {alike[n]: first + place // part for place, n in enumerate(quarter)}
        first += -(-len(quarters[0]) // part)
    return batch


def _edges_between(children: list[list[int]], begin: int, count: int) -> int:
    return sum(map(len, children[begin : begin + count]))


def _ints(values: npt.ArrayLike) -> npt.NDArray[np.int32]:
    return np.array(values, np.int32)


def _offsets(lists: list[list[Any]]) -> npt.NDArray[np.int32]:
    return _ints(list(accumulate(map(len, lists), initial=0)))


def _child_at(node: StructureNode, position: int, node_id: dict[StructureNode, int]) -> int:
    child = node.children[position] if position < len(node.children) else None
    return -1 if child is None else node_id[child]


def _tops(plan: Plan, nodes: list[StructureNode], height: dict[StructureNode, int]) -> list[list[int]]:
    """Return, for each step of an unrolled plan, its top nodes by number: the parent is in a later step."""
    if not plan.unrolled:
        return []

    def step(node: StructureNode) -> int:
        return (height[node] - 1) // (plan.unrolled + 1)

    parent = {child: node for node in nodes for child in node.children if child is not None}
    found: list[list[int]] = [[] for _ in range(step(nodes[0]) + 1)] if nodes else []
    for number, node in enumerate(nodes):
        if not node.is_leaf and (node not in parent or step(parent[node]) != step(node)):
            found[step(node)].append(number)
    return found


def _class_of(plan: Plan, node: StructureNode, carried: Mapping[str, npt.NDArray[Any]]) -> int:
    """Return the index of a node's class: the first of its kind with all conditions true, else the last."""
    own = [number for number, each in enumerate(plan.classes) if each.leaf is node.is_leaf]
    width = sum(child is not None for child in node.children)
    for number in own:
        asked = plan.classes[number].conditions
        if all(each.holds(width if each.payload is None else int(carried[each.payload])) for each in asked):
            return number
    return own[-1] if own else 0


def _class_lengths(
    plan: Plan, heights: list[int], classes: list[int], batches: int
) -> tuple[npt.NDArray[np.int32], ...]:
    count = np.zeros((max(len(plan.classes), 1), batches), np.int32)
    np.add.at(count, (np.array(classes, int), np.array(heights, int)), 1)
    return tuple(_ints(length) for length in count[:-1])


def _groups(tops: list[int], nodes: list[StructureNode], node_id: dict[StructureNode, int]) -> list[int]:
    """Return, for each node by number, which of `tops` it is or is below of in one step; -1 for leaves.

    A node that is no top is in its parent's step, and parents are numbered below their children.
    """
    place = {number: place for place, number in enumerate(tops)}
    parent = {child: node for node in nodes for child in node.children if child is not None}
    found: list[int] = []
    for number, node in enumerate(nodes):
        if node.is_leaf:
            found.append(-1)
        else:
            found.append(place[number] if number in place else found[node_id[parent[node]]])
    return found


def _by_id(plan: Plan, name: str, values: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    payload = plan.payload(name)
    assert payload is not None
    return np.array(values, payload.dtype.numpy).reshape(len(values), *payload.shape)
