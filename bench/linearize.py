"""Times linearizing alone, for each kind of structure that holds the same trees.

    python bench/linearize.py [--trees FILE] [--repeats N] [--kinds NAME ...] [--json FILE]

FILE holds bracketed binary trees, one a line (the packaged sample where none is given). The plan is that of a
binary TreeLSTM: an int32 `word` at the leaves, or a vector `x` of 64 floats where a kind says so, and the arrays of
left and right children. One table comes out:
for each kind the time of a call on a structure of one node, which is the fixed cost of a call, and for batches
of 1, 10 and all trees the nanoseconds a node of the fastest call, all costs included; the fastest, because
other jobs only ever make a call slower. `--json` writes the same with medians, machine and versions.

What is timed includes the end of the previous result, as it would be where a caller keeps one at a time. Each
kind's arrays are compared with those of `tests.linearize.reference` before they are timed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.machine import about
from cortex.data import sample_treebank
from cortex.ilir.plan import Payload, Plan, Presence, StructureKind
from cortex.linearize import Forest, Linearized, Linearizer, Node, Vocab, read_ptb
from ragged.ir.dtype import DType
from tests.linearize import reference

BATCHES = (1, 10, None)
"""How many trees; None for all."""

SAMPLE_NS = 2_000_000
"""A sample is as many calls as take so long, so that the clock costs nothing."""

Made = TypeVar("Made")

Trees = tuple[list[Node], list[str]]

ARRAYS = ("batch_begin", "batch_length", "child_begin", "child", "roots", "root_begin", "rows", "row_begin")


class Fork:
    """A caller's node: plain attributes."""

    def __init__(self, left: Fork | None, right: Fork | None, word: int | None = None) -> None:
        self.left, self.right = left, right
        if word is not None:
            self.word = word

    @classmethod
    def leaf(cls, word: int) -> Fork:
        """Return a leaf with a word."""
        return cls(None, None, word)


class SlottedFork:
    """A caller's node: slots."""

    __slots__ = ("left", "right", "word")

    def __init__(self, left: SlottedFork | None, right: SlottedFork | None, word: int | None = None) -> None:
        self.left, self.right, self.word = left, right, word

    @classmethod
    def leaf(cls, word: int) -> SlottedFork:
        """Return a leaf with a word."""
        return cls(None, None, word)


def as_value(word: int) -> object:
    """Return a leaf as a tuple's value."""
    return int(word)


def as_pair(left: object, right: object) -> object:
    """Return an inner node as a tuple."""
    return (left, right)


def children_of(node: Node) -> list[Node]:
    """Return a node's children, of which none is missing here."""
    return [child for child in node.children if child is not None]


def fold(root: Node, leaf: Callable[[int], Made], inner: Callable[[Made, Made], Made]) -> Made:
    """Make another form of a tree, from the leaves up."""
    order, stack = [], [root]
    while stack:
        order.append(stack.pop())
        stack += children_of(order[-1])
    made: dict[int, Made] = {}
    for node in reversed(order):
        children = [made[id(child)] for child in children_of(node)]
        made[id(node)] = inner(*children) if children else leaf(node.word)
    return made[id(root)]


def forest(trees: Sequence[Node], *, post_order: bool) -> Forest:
    """Return the trees as flat arrays, numbered in pre-order or in post-order."""
    parents: list[int] = []
    words: list[int] = []
    begin = [0]
    for tree in trees:
        stack = [(tree, -1)]
        while stack:
            node, parent = stack.pop()
            stack += [(child, len(parents)) for child in reversed(children_of(node))]
            parents.append(parent)
            words.append(getattr(node, "word", -1))
        begin.append(len(parents))
    given = Forest.from_parents(parents, begin, word=np.array(words, np.int32))
    if not post_order:
        return given
    keys = np.array(Linearizer(plan_of(2**31 - 1))(given).keys)
    row = np.empty(keys.size, int)
    row[keys] = np.arange(keys.size)
    parent = np.array(parents)[keys]
    return Forest.from_parents(
        np.where(parent < 0, -1, row[parent]), begin, word=given.payloads["word"][keys]
    )


def plan_of(words: int) -> Plan:
    """Return the plan of a binary TreeLSTM over so many words."""
    word = Payload("word", DType.INT32, (), Presence.LEAVES, -1, (0, words))
    return Plan(StructureKind.TREE, 2, 2, (word,), (0, 1))


VECTORS = Plan(
    StructureKind.TREE, 2, 2, (Payload("x", DType.FLOAT32, (64,), Presence.LEAVES, 0.0, None),), (0, 1)
)


def tensor_of(value: object) -> object:
    """Return a number or an array as a tensor of torch, which is imported where it is asked for."""
    import torch

    return torch.tensor(value)


def with_words(make: Callable[[int], object]) -> Callable[[Trees], object]:
    """Return the kind of Nodes with words of another type."""
    return lambda trees: [fold(t, lambda w: Node(word=make(w)), lambda *two: Node(two)) for t in trees[0]]


def with_vectors(make: Callable[[np.ndarray], object]) -> Callable[[Trees], object]:
    """Return the kind of Nodes with vectors of a type."""
    row = np.arange(64, dtype=np.float32)
    return lambda trees: [fold(t, lambda w: Node(x=make(row + w)), lambda *two: Node(two)) for t in trees[0]]


KINDS: dict[str, Callable[[Trees], object]] = {
    "Node": lambda trees: trees[0],
    "object": lambda trees: [fold(t, Fork.leaf, Fork) for t in trees[0]],
    "object, slots": lambda trees: [fold(t, SlottedFork.leaf, SlottedFork) for t in trees[0]],
    "tuple": lambda trees: [fold(t, as_value, as_pair) for t in trees[0]],
    "string": lambda trees: trees[1],
    "Forest": lambda trees: forest(trees[0], post_order=False),
    "Forest, post-order": lambda trees: forest(trees[0], post_order=True),
    "Node, NumPy integer": with_words(np.int64),
    "Node, 0-d array": with_words(np.array),
    "Node, tensor": with_words(tensor_of),
    "Node, x an array": with_vectors(np.array),
    "Node, x a tensor": with_vectors(tensor_of),
    "Node, x a list": with_vectors(np.ndarray.tolist),
}
LEAVES: dict[str, object] = {
    "Node": Node(word=0),
    "object": Fork(None, None, 0),
    "object, slots": SlottedFork(None, None, 0),
    "tuple": 0,
    "string": "(0 .)",
    "Forest": Forest([0, 0], [], word=[0]),
    "Forest, post-order": Forest([0, 0], [], [0, 1], word=[0]),
}


def leaf_of(kind: str) -> object:
    """Return the structure of one node of a kind."""
    return LEAVES[kind] if kind in LEAVES else KINDS[kind](([Node(word=0)], []))


@dataclass(frozen=True, slots=True)
class Timing:
    """One kind and batch: nanoseconds of a call."""

    kind: str
    trees: int
    nodes: int
    fastest: float
    median: float


def check(linearizer: Linearizer, data: object, vocab: Vocab) -> Linearized:
    """Linearize, and stop where a result is not the reference's."""
    given = linearizer(data)
    wanted = reference.linearize(linearizer.plan, data, vocab=vocab)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(given, name), getattr(wanted, name), name)
    for name, array in wanted.payloads.items():
        np.testing.assert_array_equal(given.payloads[name], array)
    for name, array in wanted.arrays.items():
        np.testing.assert_array_equal(given.arrays[name], array)
    return given


def time_call(call: Callable[[object], object], data: object, repeats: int) -> tuple[float, float]:
    """Return the fastest and the median of a call's samples, in nanoseconds."""
    begin = perf_counter_ns()
    kept = call(data)
    calls = max(1, SAMPLE_NS // max(1, perf_counter_ns() - begin))
    samples = []
    for _ in range(repeats):
        begin = perf_counter_ns()
        for _ in range(calls):
            kept = call(data)
        samples.append((perf_counter_ns() - begin) / calls)
    del kept
    return min(samples), statistics.median(samples)


def measure(kind: str, trees: Trees, vocab: Vocab, repeats: int) -> list[Timing]:
    """Check and time one kind: a leaf, then each batch."""
    linearizer = Linearizer(VECTORS if "x" in kind.split() else plan_of(len(vocab)), vocab=vocab)
    structures = [(1, leaf_of(kind))]
    for size in BATCHES:
        part = (trees[0][:size], trees[1][:size])
        structures.append((len(part[0]), KINDS[kind](part)))
    timings = []
    for number, data in structures:
        nodes = check(linearizer, data, vocab).num_nodes
        timings.append(Timing(kind, number, nodes, *time_call(linearizer, data, repeats)))
    return timings


def table(timings: list[Timing]) -> str:
    """Return the table that the module's text describes."""
    kinds = list(dict.fromkeys(timing.kind for timing in timings))
    sizes = list(dict.fromkeys(timing.trees for timing in timings if timing.nodes > 1))
    heads = "".join(f"{f'{size} trees':>12}" for size in sizes)
    lines = [f"{'ns a node':<20}{'one leaf, us':>14}{heads}"]
    for kind in kinds:
        leaf, *batches = [timing for timing in timings if timing.kind == kind]
        cells = "".join(f"{timing.fastest / timing.nodes:>12.1f}" for timing in batches)
        lines.append(f"{kind:<20}{leaf.fastest / 1e3:>14.2f}{cells}")
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trees", type=Path, default=sample_treebank(), help="bracketed trees, one a line")
    parser.add_argument("--repeats", type=int, default=200, help="samples of each cell")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), metavar="NAME")
    parser.add_argument("--json", type=Path, help="where to write the timings")
    options = parser.parse_args()
    texts = options.trees.read_text(encoding="utf-8").splitlines()
    vocab = Vocab.from_trees(texts)
    trees = (read_ptb(options.trees, vocab), texts)
    timings = [t for kind in options.kinds for t in measure(kind, trees, vocab, options.repeats)]
    print(table(timings))
    if options.json is not None:
        result = {
            **about(),
            "trees": str(options.trees),
            "repeats": options.repeats,
            "unit": "ns a call",
            "timings": [asdict(timing) for timing in timings],
        }
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
