"""Random batches of structures that a plan allows, as `cortex.Node` objects that carry what the plan asks for."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from cortex import Node
from cortex.ilir.plan import Payload, Plan, StructureKind

Shape = list[list[int]]
"""Each node's children, which stand before it."""


@st.composite
def batches(draw: st.DrawFn, plan: Plan) -> list[Node]:
    """Draw 0 to 6 structures; one of them may stand in the batch twice."""
    size = draw(st.sampled_from([1, 2, 3, 4, 5, 0]))
    found = [draw(structures(plan)) for _ in range(size)]
    return [*found, found[0]] if found and draw(st.integers(0, 3)) == 0 else found


@st.composite
def structures(draw: st.DrawFn, plan: Plan) -> Node:
    """Draw a structure: one node, a chain, a star, or any other."""
    shape = draw(shapes(plan))
    random = np.random.default_rng(draw(st.integers(0, 9)))
    made: list[Node] = []
    for children in shape:
        payload = {
            p.name: value_of(p, random)
            for p in plan.payloads
            if p.required.at(not children) or random.integers(2)
        }
        below: list[Node | None] = [made[child] for child in children]
        if plan.min_children == 0 and below and len(below) < (plan.most_children or 0):
            below.insert(int(random.integers(len(below) + 1)), None)
        made.append(Node(below, **payload))
    root = made[-1]
    for name in {p.name for p in plan.payloads} - vars(root).keys():
        setattr(root, name, None)  # some node has each payload, if only as None
    return root


@st.composite
def shapes(draw: st.DrawFn, plan: Plan) -> Shape:
    """Draw a connected shape; its last node is the root."""
    least = plan.min_children
    most = plan.most_children if plan.most_children is not None else max(least, 4)
    match draw(st.integers(0, 3)):
        case 0:
            return [[]]
        case 1:
            return _chain(draw(st.integers(1, 6)), least)
        case 2:
            width = draw(st.integers(least, most if plan.most_children is not None else least + 5))
            return [*([] for _ in range(width)), [*range(width)]]
        case _:
            shared = plan.kind is StructureKind.DAG
            return _connected(_random(draw, least, most, shared))


def _chain(length: int, least: int) -> Shape:
    """Return inner nodes in a row, each with as many leaves beside the next as it needs children."""
    shape: Shape = [[]]
    for _ in range(length):
        below = len(shape) - 1
        shape += [[] for _ in range(least - 1)]
        shape.append([below, *range(below + 1, len(shape))])
    return shape


def _random(draw: st.DrawFn, least: int, most: int, shared: bool) -> Shape:
    """Draw nodes one after another, each over nodes before it: over the free ones, or over any if `shared`."""
    shape: Shape = []
    free: list[int] = []
    for node in range(draw(st.integers(1, 12))):
        pool = [*range(node)] if shared else free
        width = draw(st.integers(least, most)) if draw(st.integers(0, 2)) else 0
        if width > len(pool):
            width = 0
        children = draw(st.permutations(pool))[:width] if shared else free[len(free) - width :]
        free = [other for other in free if other not in children] + [node]
        shape.append([*children])
    return shape


def _connected(shape: Shape) -> Shape:
    """Return what the last node reaches: a structure is handed over by its root."""
    reached: set[int] = set()
    pending = [len(shape) - 1]
    while pending:
        node = pending.pop()
        if node not in reached:
            reached.add(node)
            pending += shape[node]
    number = {node: place for place, node in enumerate(sorted(reached))}
    return [[number[child] for child in shape[node]] for node in sorted(reached)]


def value_of(payload: Payload, random: np.random.Generator) -> object:
    """Return a random value: integers within their range, floats of deviation 1."""
    if payload.dtype.is_int:
        low, high = payload.range or (-4, 5)
        drawn = random.integers(max(low, -4), min(high, 5), payload.shape)
        return int(drawn) if not payload.shape else drawn.astype(payload.dtype.numpy)
    values = random.standard_normal(payload.shape).astype(payload.dtype.numpy)
    return values if payload.shape else float(values)
