"""One illegal batch for each message, by the name of the function that writes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import networkx
import numpy as np

from cortex.ilir.plan import Plan, Presence, StructureKind
from cortex.linearize import Forest, Node, Vocab, linearize
from tests.linearize.strategies import Labelled
from tests.linearize.support import BARE, BINARY, DAG, SEQUENCE, TREE, carrying, vector, word

VOCAB = Vocab(["good", "film"])
STRICT = Vocab(["good", "film"], unk=None)


GRID = Plan(StructureKind.DAG, 0, 2, (), (0, 1))


@dataclass
class Illegal:
    """A plan and a batch that it forbids."""

    plan: Plan
    make: Callable[[], object]
    options: dict[str, Any] = field(default_factory=dict)


class Broken:
    """Looks like an array, and cannot be read as one."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise RuntimeError("can't convert a tensor on another device")

    def __repr__(self) -> str:
        return "Broken()"


def cyclic() -> Node:
    inner = Node([Node(word=1)])
    root = Node([Node(), inner])
    inner.children = (*inner.children, root)
    return root


def placed(*positions: int | None) -> networkx.DiGraph:
    """Return a graph of one node and its children, each edge with a position, or with none."""
    graph = networkx.DiGraph()
    for child, position in enumerate(positions):
        graph.add_edge("a", child, **({} if position is None else {"position": position}))
    return graph


def sharing() -> Node:
    leaf = Node(word=3)
    return Node([Node([leaf, Node()]), leaf])


def deep(steps: int) -> Node:
    node = Node(word=99)
    for _ in range(steps):
        node = Node([node])
    return node


def uncountable() -> Node:
    node = Node()
    node.children = 5  # type: ignore[assignment]
    return node


def not_utf(text: str, **options: Any) -> Illegal:
    return Illegal(TREE, lambda: [(1, 2), text], {"vocab": VOCAB, **options})


def one(plan: Plan, **payload: object) -> Illegal:
    return Illegal(plan, lambda: Node([Node(**payload), Node()]))


MATRIX = carrying(vector(Presence.LEAVES))
NUMBERS = carrying(word())
CASES: dict[str, Illegal] = {
    "not_a_structure": Illegal(TREE, lambda: [5, {"word": 3}]),
    "not_a_structure.kids": Illegal(TREE, lambda: Node(), {"children": "kids"}),
    "not_a_structure.named": Illegal(TREE, lambda: True, {"children": ("first", "second")}),
    "not_a_node": Illegal(TREE, lambda: Node([Node(), Node([Node(), 7])])),  # type: ignore[list-item]
    "batch_in_batch": Illegal(TREE, lambda: [[1, 2]]),
    "linearized_in_batch": Illegal(TREE, lambda: [1, linearize(TREE, 1)]),
    "other_plan": Illegal(BINARY, lambda: linearize(SEQUENCE, [np.arange(3)])),
    "other_plan.range": Illegal(TREE, lambda: linearize(carrying(word(Presence.NOWHERE, rows=7)), 1)),
    "other_plan.positions": Illegal(replace(TREE, positions=(0,)), lambda: linearize(TREE, 1)),
    "shared": Illegal(TREE, lambda: [1, sharing()]),
    "shared.forest": Illegal(TREE, lambda: Forest([0, 1, 2, 2], [2, 2])),
    "cycle": Illegal(DAG, cyclic),
    "cycle.forest": Illegal(DAG, lambda: Forest([0, 1, 2, 3], [1, 2, 1])),
    "children_not_iterable": Illegal(TREE, lambda: Node([Node(), uncountable()])),
    "few_children": Illegal(BINARY, lambda: ((1, 2), (3,))),
    "many_children": Illegal(BINARY, lambda: (1, (2, 3, 4))),
    "many_children.dag": Illegal(GRID, lambda: Node([Node(), Node(), Node()])),
    "many_children.sequence": Illegal(SEQUENCE, lambda: (1, 2)),
    "hole": Illegal(Plan(StructureKind.TREE, 2, 3, (), (1,)), lambda: Node([Node(), None, Node()])),
    "missing": Illegal(NUMBERS, lambda: [3, Node([Node(word=1), Node()])]),
    "missing.vector": one(MATRIX, word=3),
    "missing.forest": Illegal(NUMBERS, lambda: [3, Forest.from_parents([1, -1])]),
    "no_integer": one(NUMBERS, word=True),
    "no_integer.float": one(NUMBERS, word=2.0),
    "no_number": one(carrying(vector()), x=[1.0, "two", 3.0]),
    "overflow": one(NUMBERS, word=2**40),
    "overflow.float": one(carrying(vector()), x=[1.0, 1e39, 3.0]),
    "out_of_range": one(NUMBERS, word=10),
    "out_of_range.default": one(NUMBERS, word=-1),
    "no_row": Illegal(carrying(word(rows=2)), lambda: "(3 (2 good)\n  (1 rare))", {"vocab": VOCAB}),
    "out_of_range.deep": Illegal(TREE, lambda: deep(1000)),
    "carried_nowhere": Illegal(TREE, lambda: [Node([Node(wrod=1)]), Node([Node(wrod=2)])]),
    "carried_nowhere.renamed": Illegal(
        TREE, lambda: {"children": [{"token_id": 1}], "op": 2}, {"payloads": {"word": "tokenid"}}
    ),
    "carried_nowhere.forest_renamed": Illegal(
        TREE, lambda: Forest.from_parents([1, -1], token=[1, 2]), {"payloads": {"word": "token"}}
    ),
    "carried_nowhere.unnamed": Illegal(TREE, lambda: [Node([Node()])]),
    "carried_nowhere.tuples": Illegal(carrying(word(), vector()), lambda: (1, 2)),
    "carried_nowhere.forest": Illegal(TREE, lambda: Forest.from_parents([1, -1], wrod=[1, 2])),
    "no_array": one(MATRIX, x="abc"),
    "no_conversion": one(MATRIX, x=Broken()),
    "masked": one(MATRIX, x=np.ma.masked_array(np.zeros((3, 2), np.float32), [[0, 1], [0, 0], [0, 0]])),
    "masked.vector": one(carrying(vector()), x=np.ma.masked_array(np.zeros(3, np.float32), [0, 1, 0])),
    "masked.word": one(NUMBERS, word=np.ma.masked_array(3, True)),
    "masked.sequence": Illegal(SEQUENCE, lambda: np.ma.masked_array(np.arange(3), [0, 1, 0])),
    "wrong_dtype": one(MATRIX, x=np.zeros(3)),
    "wrong_shape": one(MATRIX, x=np.zeros((3, 1), np.float32)),
    "wrong_length": one(MATRIX, x=[1.0, 2.0]),
    "no_vocabulary": Illegal(TREE, lambda: [1, "(3 good)"]),
    "empty_text": not_utf("  \n"),
    "no_bracket": not_utf("good (3 film)"),
    "unmatched": not_utf("(3 good))"),
    "unclosed": not_utf("(3 (2 good)\n   (2 film"),
    "empty_brackets": not_utf("(3 (2 good) ())"),
    "no_content": not_utf("(3 (2 good) (2))"),
    "no_label": not_utf("(3 ((2 good) (2 film)))"),
    "bare_word": not_utf("((3 good) film)"),
    "trailing": not_utf("(3 good) (3 film)"),
    "unknown_word": not_utf("(3 (2 good) (2 flim))", vocab=STRICT),
    "empty_tuple": Illegal(TREE, lambda: (1, (2, ()))),
    "tuple_element": Illegal(TREE, lambda: (1, (2, "film"))),
    "no_sequence": Illegal(SEQUENCE, lambda: [np.arange(3), np.zeros(3)]),
    "empty_sequence": Illegal(SEQUENCE, lambda: [np.arange(3), np.zeros(0, np.int32)]),
    "no_vector_payload": Illegal(SEQUENCE, lambda: np.zeros((2, 3), np.float32)),
    "unreadable": Illegal(SEQUENCE, Broken),
    "forest_begin": Illegal(BARE, lambda: Forest([0, 2, 1], [1, 1])),
    "forest_begin.first": Illegal(BARE, lambda: Forest([1, 2], [0, 0])),
    "forest_begin.structure": Illegal(BARE, lambda: Forest([0, 0, 0], [], [0, 1])),
    "forest_child": Illegal(BARE, lambda: Forest([0, 1, 1, 1], [2], [0, 2, 3])),
    "forest_empty": Illegal(BARE, lambda: Forest([0, 0, 0], [], [0, 1, 1, 2])),
    "forest_roots": Illegal(BARE, lambda: Forest([0, 0, 1, 1], [0], [0, 3])),
    "forest_cycle": Illegal(BARE, lambda: Forest.from_parents([-1, 2, 1])),
    "graph_kind": Illegal(DAG, lambda: [1, networkx.Graph([(1, 2)])]),
    "graph_kind.multiple": Illegal(DAG, lambda: networkx.MultiDiGraph([(1, 2), (1, 2)])),
    "graph_empty": Illegal(DAG, lambda: networkx.DiGraph()),
    "graph_roots": Illegal(TREE, lambda: networkx.DiGraph([("a", "b"), ("c", "d")])),
    "graph_cycle": Illegal(DAG, lambda: networkx.DiGraph([("a", "b"), ("c", "d"), ("d", "c")])),
    "graph_position": Illegal(GRID, lambda: placed(0, None)),
    "graph_position.taken": Illegal(GRID, lambda: placed(1, 1)),
    "cycle.graph": Illegal(DAG, lambda: networkx.DiGraph([("a", "b"), ("b", "c"), ("c", "b")])),
    "shared.graph": Illegal(TREE, lambda: networkx.DiGraph([("a", "b"), ("a", "c"), ("c", "b")])),
    "missing.graph": Illegal(NUMBERS, lambda: networkx.DiGraph([("a", "b")])),
    "labelled_vocabulary": Illegal(TREE, lambda: Labelled(["good"])),
    "labelled_content": Illegal(TREE, lambda: Labelled([Labelled(["good"]), Labelled()]), {"vocab": VOCAB}),
    "labelled_child": Illegal(TREE, lambda: Labelled([Labelled(["good"]), "film"]), {"vocab": VOCAB}),
    "unknown_word.labelled": Illegal(TREE, lambda: Labelled([Labelled(["flim"])]), {"vocab": STRICT}),
    "column_length": Illegal(TREE, lambda: Forest([0, 0], [], word=[1, 2])),
}
