"""Random plans, and random batches of every kind: mostly legal, with a fault here and there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx
import numpy as np
from hypothesis import strategies as st

from cortex.ilir.classes import Comparison, NodeClass
from cortex.ilir.plan import Payload, Plan, Presence, StructureKind
from cortex.linearize import Forest, Node
from ragged.ir.dtype import DType
from ragged.ir.ops import BinaryOp

WORDS = ["good", "film", "bad", "über", "-LRB-"]
Shape = list[list[int | None]]
"""Each node's children; a child's index is below its parent's. The last node is a root, others may be too."""


class Pair:
    """An object with `left` and `right`."""

    def __init__(self, left: object, right: object, payload: dict[str, object]) -> None:
        self.left, self.right = left, right
        self.__dict__.update(payload)


class Asked(Node):
    """A node that is asked for its attributes one by one: nothing may be read past `__getattribute__`."""

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)


class Kids:
    """An object with `children` made anew each time it is read."""

    def __init__(self, kids: list[object], payload: dict[str, object]) -> None:
        self._kids = kids
        self.__dict__.update(payload)

    @property
    def children(self) -> Any:
        return (kid for kid in self._kids)


@st.composite
def plans(draw: st.DrawFn, strict: bool = True) -> Plan:
    """Draw a plan; one that is not strict lets nodes go without payloads."""
    presence = st.sampled_from(Presence) if strict else st.just(Presence.NOWHERE)
    known = [
        Payload("word", DType.INT32, (), draw(presence), -1, (0, 10)),
        Payload("x", DType.FLOAT32, (3,), draw(presence), 0.0, None),
        Payload("s", DType.FLOAT64, (), draw(presence), 0.5, None),
        Payload("k", DType.INT64, (2, 2), draw(presence), 7, draw(st.sampled_from([None, (-3, 5)]))),
        Payload("tag", DType.INT64, (), draw(presence), draw(st.sampled_from([-2, 3])), None),
    ]
    payloads = draw(st.lists(st.sampled_from(known), unique_by=lambda p: p.name, max_size=3))
    kind = draw(st.sampled_from(StructureKind))
    arities = [(0, None), (1, None), (1, 3)] + ([] if kind is StructureKind.SEQUENCE else [(2, 2), (2, 3)])
    least, most = draw(st.sampled_from(arities))
    positions = draw(st.sampled_from([(), (0,), (1, 0), (0, 2)]))
    listable = [p.name for p in payloads if p.dtype.is_int and not p.shape]
    carriers = draw(st.lists(st.sampled_from(listable), unique=True)) if listable else []
    unrolled = 0 if kind is StructureKind.DAG else draw(st.sampled_from([0, 0, 1, 2, 3]))
    classes = draw(st.one_of(st.just(()), node_classes(listable)))
    widest = None if unrolled else draw(st.sampled_from([None, None, 1, 2, 5]))
    return Plan(
        kind,
        least,
        most,
        tuple(payloads),
        positions,
        tuple(carriers),
        unrolled,
        classes,
        recycled=draw(st.booleans()),
        members=draw(st.booleans()),
        widest=widest,
    )


@st.composite
def node_classes(draw: st.DrawFn, payloads: list[str]) -> tuple[NodeClass, ...]:
    """Draw classes by the number of children and by integer payloads: every node is of exactly one."""
    opposite = {
        BinaryOp.EQ: BinaryOp.NE,
        BinaryOp.LT: BinaryOp.GE,
        BinaryOp.GT: BinaryOp.LE,
    } | {BinaryOp.NE: BinaryOp.EQ, BinaryOp.GE: BinaryOp.LT, BinaryOp.LE: BinaryOp.GT}

    def split(known: tuple[Comparison, ...], depth: int) -> list[tuple[Comparison, ...]]:
        if depth == 0 or draw(st.integers(0, 2)) == 0:
            return [known]
        asked = Comparison(
            draw(st.sampled_from([None, *payloads])),
            draw(st.sampled_from([*opposite])),
            draw(st.integers(-1, 4)),
        )
        other = replace(asked, op=opposite[asked.op])
        return [*split((*known, asked), depth - 1), *split((*known, other), depth - 1)]

    return tuple(NodeClass(leaf, found) for leaf in (True, False) for found in split((), 2))


@st.composite
def shapes(draw: st.DrawFn, plan: Plan, holes: bool = True) -> Shape:
    """Draw a shape that the plan mostly allows."""
    shared = draw(st.booleans()) if plan.kind is StructureKind.DAG else draw(st.integers(0, 30)) == 0
    free: list[int] = []
    shape: Shape = []
    for node in range(draw(st.integers(1, 10))):
        most = min(plan.most_children or 3, node if shared else len(free))
        least = max(plan.min_children, 1)
        if draw(st.integers(0, 60)) == 0:
            least, most = 1, most + 1
        width = draw(st.integers(least, most)) if least <= most and draw(st.integers(0, 2)) else 0
        if shared:
            ids = st.integers(0, max(node - 1, 0))
            children: list[int | None] = [*draw(st.lists(ids, min_size=min(width, node), max_size=width))]
        else:
            children, free = [*free[len(free) - width :]], free[: len(free) - width]
        free.append(node)
        if holes and children and draw(st.integers(0, 12)) == 0:
            children.insert(draw(st.integers(0, len(children))), None)
        shape.append(children if node else [])
    return shape


def values(payload: Payload) -> st.SearchStrategy[object]:
    """Draw what a node may carry, in many forms, some of them wrong."""
    floats = st.floats(width=32, allow_nan=False)
    match payload.name:
        case "word":
            right = st.integers(0, 9)
            forms = [right, right.map(np.int64), right.map(np.uint8), right.map(np.array)]
            wrong: list[object] = [10, -1, -2, True, 1.0, np.float32(1), 2**31, 2**70, "a", np.True_, None]
        case "tag":
            right = st.integers(-4, 4)
            forms = [right, right.map(np.int8), right.map(np.int64), st.just(2**40), st.just(-(2**63))]
            wrong = [2**63, True, 0.0, np.float64(1), "a", None, [1]]
        case "x":
            right = st.lists(floats, min_size=3, max_size=3)
            arrays = right.map(lambda v: np.array(v, np.float32))
            forms = [
                right,
                right.map(tuple),
                arrays,
                arrays.map(lambda a: np.repeat(a, 2)[::2]),
                arrays.map(memoryview),
            ]
            wrong = [
                np.zeros(3),
                np.zeros(2, np.float32),
                [1.0, 2.0],
                [1.0, "a", 2.0],
                3.0,
                b"abc",
                [1e300] * 3,
                None,
            ]
        case "s":
            forms = [floats, floats.map(np.float32), st.integers(-9, 9), st.integers(-9, 9).map(np.int16)]
            forms.append(floats.map(lambda v: np.array(v, np.float64)))
            wrong = [False, "a", np.array(1.0, np.float32), np.zeros(1), 10**400, 1j, None]
        case _:
            right = st.lists(st.lists(st.integers(-3, 4), min_size=2, max_size=2), min_size=2, max_size=2)
            forms = [right, right.map(lambda v: np.array(v, np.int8)), right.map(lambda v: np.array(v).T)]
            wrong = [
                [[1, 2], [3, 9]],
                np.full((2, 2), 2**63, np.uint64),
                [[1, 2], 3],
                [[1, 2]],
                np.eye(2),
                None,
            ]
    return st.integers(0, 24).flatmap(lambda i: st.sampled_from(wrong) if i == 0 else st.one_of(forms))


@st.composite
def carried(draw: st.DrawFn, plan: Plan, leaf: bool) -> dict[str, object]:
    """Draw what one node carries; what it must carry is rarely missing."""
    payload = {}
    for p in plan.payloads:
        if (p.required.at(leaf) and draw(st.integers(0, 30))) or draw(st.booleans()):
            payload[p.name] = draw(values(p))
    return payload


@st.composite
def objects(draw: st.DrawFn, plan: Plan) -> object:
    made: list[Any] = []
    for children in draw(shapes(plan)):
        kids = [None if c is None else made[c] for c in children]
        payload = draw(carried(plan, not kids))
        pair = len(kids) <= 2 and draw(st.booleans())
        if pair:
            made.append(Pair(*[*kids, None, None][:2], payload))
        elif draw(st.integers(0, 4)) == 0:
            made.append(Kids(kids, payload))
        else:
            made.append(draw(st.sampled_from([Node, Node, Asked]))(kids, **payload))
    match draw(st.integers(0, 40)):
        case 0 if isinstance(made[0], Node):
            made[0].children = (made[-1],)
        case 1 if isinstance(made[-1], Node):
            made[-1].children = (*made[-1].children, *made[-1].children, 3)
    return made[-1]


@st.composite
def tuples(draw: st.DrawFn, plan: Plan) -> object:
    made: list[Any] = []
    ints = [st.integers(0, 9), st.integers(0, 9).map(np.int32)]
    for children in draw(shapes(plan)):
        kids = tuple(None if c is None else made[c] for c in children)
        made.append(
            kids
            or (draw(st.one_of(ints)) if draw(st.integers(0, 40)) else draw(st.sampled_from([(), 11, 2.0])))
        )
    return made[-1]


@st.composite
def texts(draw: st.DrawFn, plan: Plan) -> str:
    made: list[str] = []
    for children in draw(shapes(plan, holes=False)):
        space = draw(st.sampled_from([" ", "  ", "\n", "\t "]))
        inside = space.join(made[c] for c in children if c is not None) or draw(
            st.sampled_from([*WORDS, "odd"])
        )
        bare = not any(c is not None for c in children) and draw(st.integers(0, 5)) == 0
        made.append(inside if bare else f"({draw(st.integers(0, 4))}{space}{inside})")
    text = made[-1]
    match draw(st.integers(0, 12)):
        case 0:
            cut = draw(st.integers(0, len(text) - 1))
            return text[:cut] + draw(st.sampled_from(["", "(", ")", " a "])) + text[cut + 1 :]
        case 1:
            return f" ( {text})"
    return text


@st.composite
def sequences(draw: st.DrawFn, plan: Plan) -> np.ndarray:
    steps = draw(st.integers(1, 8)) if draw(st.integers(0, 20)) else 0
    if plan.payload("x") is None or draw(st.integers(0, 4)) == 0:
        dtype = draw(st.sampled_from([np.int32, np.int64, np.uint8])) if draw(st.integers(0, 15)) else ">i4"
        highest = 9 if draw(st.integers(0, 15)) else 10
        return np.array(draw(st.lists(st.integers(0, highest), min_size=steps, max_size=steps)), dtype)
    x = np.arange(steps * 6, dtype=draw(st.sampled_from([np.float32, np.float32, np.float64])))
    strided = x.reshape(steps, 6)[:, ::2]
    return draw(st.sampled_from([strided, strided.copy(), np.repeat(strided, 2, axis=0)[::2]]))


@st.composite
def forests(draw: st.DrawFn, plan: Plan) -> Forest:
    lists: Shape = []
    begin = [0]
    for shape in draw(st.lists(shapes(plan), min_size=1, max_size=3)):
        along = [*range(len(shape))]  # children before their parents; then the other way round; then neither
        order = draw(st.one_of(st.just(along), st.just(along[::-1]), st.permutations(along)))
        block: Shape = [[] for _ in shape]
        for node, children in enumerate(shape):
            block[order[node]] = [None if c is None else begin[-1] + order[c] for c in children]
        lists += block
        begin.append(len(lists))
    if draw(st.integers(0, 20)) == 0:
        lists[draw(st.integers(0, len(lists) - 1))].append(draw(st.integers(-1, len(lists))))
    offsets = np.cumsum([0, *map(len, lists)])
    child = [-1 if c is None else c for children in lists for c in children]
    payloads: dict[str, Any] = {}
    for p in plan.payloads:
        if draw(st.integers(0, 12)):
            payloads[p.name] = draw(columns(p, len(lists)))
    structure_begin = begin if draw(st.booleans()) else None
    return Forest(offsets, np.array(child, np.int64), structure_begin, **payloads)


@st.composite
def columns(draw: st.DrawFn, payload: Payload, nodes: int) -> np.ndarray:
    nodes += draw(st.integers(0, 30)) == 0
    if payload.dtype.is_int:
        high = 9 if payload.name == "word" else 4
        low = -4 if payload.name == "tag" else 0
        flat = draw(st.lists(st.integers(low, high), min_size=nodes, max_size=nodes))
        array = np.repeat(np.array(flat), int(np.prod(payload.shape))).reshape(nodes, *payload.shape)
        if nodes and draw(st.integers(0, 12)) == 0:
            array.flat[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from([-1, 10, 2**40]))
            return array
        signed = [np.int32, np.int64, np.int8]
        return array.astype(draw(st.sampled_from(signed if low else [*signed, np.uint64])))
    size = nodes * int(np.prod(payload.shape)) * 2
    array = np.arange(size, dtype=payload.dtype.numpy).reshape(nodes, *payload.shape, 2)[..., 0]
    return (
        draw(st.sampled_from([array, array.copy()])) if draw(st.integers(0, 20)) else array.astype(np.float16)
    )


class Labelled(list[Any]):
    """What nltk.Tree is to a reader: a list with a label."""

    def label(self) -> str:
        return "2"  # no word: what is read does not depend on it


@st.composite
def labelled(draw: st.DrawFn, plan: Plan) -> Labelled:
    made: list[Any] = []
    for children in draw(shapes(plan)):
        inside = [None if c is None else made[c] for c in children]
        if draw(st.integers(0, 60)) == 0:
            inside.append(draw(st.sampled_from(["word", 3, None, [], Labelled()])))
        made.append(Labelled(inside or [draw(st.sampled_from([*WORDS, "odd"]))]))
    return made[-1]


@st.composite
def graphs(draw: st.DrawFn, plan: Plan) -> networkx.Graph:
    """Draw a graph of nodes that are numbers, strings or tuples, sometimes a view of another."""
    shape = draw(shapes(plan, holes=False))
    keys = [draw(st.sampled_from([node, f"n{node}", (node, "x"), float(node)])) for node in range(len(shape))]
    graph = networkx.DiGraph() if draw(st.integers(0, 40)) else draw(st.sampled_from(OTHER_GRAPHS))()
    for node in draw(st.permutations(range(len(shape)))):
        graph.add_node(keys[node], **draw(carried(plan, not shape[node])))
    for node in draw(st.permutations(range(len(shape)))):
        graph.add_edges_from((keys[node], keys[child]) for child in shape[node] if child is not None)
    match draw(st.integers(0, 24)):
        case 0:
            graph.add_edge(keys[0], keys[-1])
        case 1:
            graph.add_edge("one more", "another")
        case 2 | 3:
            return graph.subgraph(draw(st.lists(st.sampled_from(keys), unique=True)))
    return graph


OTHER_GRAPHS = [networkx.Graph, networkx.MultiDiGraph, networkx.MultiGraph]


@st.composite
def batches(draw: st.DrawFn, plan: Plan) -> object:
    """Draw a batch of every kind mixed at will, or one structure by itself."""
    kinds = [objects(plan), tuples(plan), texts(plan), sequences(plan), forests(plan), labelled(plan)]
    kinds.append(graphs(plan))
    items = draw(st.lists(st.one_of(kinds), max_size=5))
    if items and draw(st.integers(0, 4)) == 0:
        items.append(items[0])
    if draw(st.integers(0, 60)) == 0:
        items.append(
            draw(st.sampled_from([3.5, None, True, [], {}, np.zeros((2, 2, 2)), np.float32(1), b"ab"]))
        )
    return items[0] if len(items) == 1 and draw(st.booleans()) else items
