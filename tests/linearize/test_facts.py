"""What the compiler takes for granted of a linearized batch holds: every fact of its functions, of every batch."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex import Forest, Node
from cortex.ilir.plan import Payload, Plan, Presence, StructureKind
from cortex.ilir.structure_functions import structure_functions
from cortex.linearize import Linearized, Vocab, linearize
from cortex.linearize.values import value_of
from ragged.errors import DataError
from ragged.ir.dtype import DType
from tests.linearize import strategies
from tests.linearize.support import check_against_reference
from tests.support.check_facts import violation

VOCAB = Vocab(strategies.WORDS)
WORD = Payload("word", DType.INT32, (), Presence.NOWHERE, -1, (0, 10))
TAG = Payload("tag", DType.INT64, (), Presence.NOWHERE, -2, None)
LISTED = Plan(StructureKind.TREE, 1, None, (WORD, TAG), (), ("word", "tag"))


def assert_facts(linearized: Linearized) -> None:
    """Check every fact of the plan's functions on the arrays and sizes that a kernel is given."""
    functions = structure_functions(linearized.plan)
    values = {f.name: value_of(f, linearized) for f in functions.all() if f.body is None}
    sizes = {name: int(value) for name, value in values.items() if not isinstance(value, np.ndarray)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    for fact in functions.facts:
        assert violation(fact, sizes, arrays) is None


def carriers(linearized: Linearized, name: str) -> tuple[np.ndarray, int, np.ndarray]:
    """Return the nodes that carry a payload, how many of them are inner, and each node's place among them."""
    return tuple(linearized.arrays[f"{each}_{name}"] for each in ("with", "num_inner_with", "place_with"))


def assert_carriers(linearized: Linearized) -> None:
    """Check the lists of carriers against the payloads themselves."""
    for name in linearized.plan.carriers:
        nodes, inner, places = carriers(linearized, name)
        assert len(nodes) == getattr(linearized, f"num_with_{name}")
        assert nodes.dtype == places.dtype == np.int32
        expected = np.flatnonzero(linearized.payloads[name] >= 0)
        np.testing.assert_array_equal(nodes, expected)
        assert inner == np.count_nonzero(expected < linearized.num_inner)
        counted = np.cumsum(linearized.payloads[name] >= 0) * (linearized.payloads[name] >= 0)
        np.testing.assert_array_equal(places, counted)


def assert_steps(linearized: Linearized) -> None:
    """Check that every inner node is in one step, a top of it or below one, and reads nothing of a later step."""
    if not linearized.plan.unrolled:
        assert "height" not in linearized.arrays and "num_steps" not in linearized.arrays
        return
    found: list[int] = []
    begin, child, height = linearized.child_begin, linearized.child, linearized.height.tolist()
    depth = linearized.plan.unrolled

    def visit(node: int, before: int, group: int) -> None:
        assert before < height[node] <= before + depth + 1 and linearized.step_group[node] == group
        for below in child[begin[node] : begin[node + 1]].tolist():
            assert height[below] < height[node]
            if height[below] > before:
                visit(below, before, group)
            else:
                assert below in found or below >= linearized.num_inner
        found.append(node)

    for step in range(linearized.num_steps):
        for place in range(linearized.top_begin[step], linearized.top_begin[step + 1]):
            visit(int(linearized.step_top[place]), step * (depth + 1), place)
    assert sorted(found) == [*range(linearized.num_inner)]
    assert set(linearized.step_group[linearized.num_inner :].tolist()) <= {-1}


def assert_classes(linearized: Linearized) -> None:
    """Check that the parts of each batch are its nodes, one after another, each of the class that it is said to be."""
    plan, begin = linearized.plan, linearized.child_begin
    lengths = [linearized.arrays[f"class_length_{n}"] for n in range(len(plan.classes) - 1)]
    for batch, (first, length) in enumerate(
        zip(linearized.batch_begin.tolist(), linearized.batch_length.tolist(), strict=True)
    ):
        ends = [0, *np.cumsum([part[batch] for part in lengths]).astype(int).tolist(), length]
        assert ends == sorted(ends)
        for each, start, end in zip(plan.classes, ends, ends[1:], strict=False):
            for node in range(first + start, first + end):
                assert each.leaf == (node >= linearized.num_inner)
                found = {None: int(begin[node + 1] - begin[node])}
                found |= {
                    c.payload: int(linearized.payloads[c.payload][node]) for c in each.conditions if c.payload
                }
                assert all(condition.holds(found[condition.payload]) for condition in each.conditions)


def assert_storage(linearized: Linearized) -> None:
    """Check that no node finds another in its row: that two nodes have one only after the earlier is needed last."""
    if not linearized.plan.recycled:
        assert "storage_row" not in linearized.arrays
        return
    row, count = linearized.storage_row.tolist(), linearized.num_nodes
    assert len(row) == count and linearized.storage_rows == max(row, default=-1) + 1
    batch = [0] * count
    for b, (first, length) in enumerate(zip(linearized.batch_begin, linearized.batch_length, strict=True)):
        begin = linearized.storage_begin[b]
        assert row[first : first + length] == [*range(begin, begin + length)]
        batch[first : first + length] = [b] * length
    until = [b + 1 for b in batch]
    for node in range(count):
        for child in linearized.child[linearized.child_begin[node] : linearized.child_begin[node + 1]]:
            until[child] = max(until[child], batch[node])
    for root in linearized.roots:
        until[root] = linearized.num_batches
    for one in range(count):
        for other in range(count):
            if one != other and row[one] == row[other] and batch[one] <= batch[other]:
                assert until[one] < batch[other]


@given(data=st.data())
@hypothesis.settings(max_examples=300)
def test_facts_of_any_batch(data):
    plan: Plan = data.draw(strategies.plans(strict=False))
    hypothesis.assume(plan.max_children != 2 or 2 not in plan.positions)  # which no model reads
    try:
        linearized = linearize(plan, data.draw(strategies.batches(plan)), vocab=VOCAB)
    except DataError:
        return
    assert_facts(linearized)
    assert_carriers(linearized)
    assert_steps(linearized)
    assert_classes(linearized)
    assert_storage(linearized)


@given(data=st.data())
@hypothesis.settings(max_examples=100)
def test_facts_of_forests(data):
    plan: Plan = data.draw(strategies.plans(strict=False))
    hypothesis.assume(plan.max_children != 2 or 2 not in plan.positions)
    linearized = check_against_reference(plan, data.draw(strategies.forests(plan)))
    if isinstance(linearized, Linearized):
        assert_facts(linearized)
        assert_carriers(linearized)
        assert_steps(linearized)
        assert_classes(linearized)
        assert_storage(linearized)


@pytest.mark.parametrize(
    ("batch", "word", "tag"),
    [
        ([], ([], 0), ([], 0)),
        ([Node((), word=None, tag=None)], ([], 0), ([], 0)),
        ([Node((), word=0, tag=0)], ([0], 0), ([0], 0)),
        ([Node((), word=-1, tag=-1)], ([], 0), ([], 0)),
        ([Node((Node((), word=3), Node((), tag=2**40)), word=1, tag=-(2**63))], ([0, 1], 1), ([2], 0)),
        ([Node((Node(()),), word=9), Node((Node(()),), tag=5), Node((), word=0)], ([0, 4], 1), ([1], 1)),
    ],
)
def test_carriers_by_hand(batch, word, tag):
    linearized = check_against_reference(LISTED, batch)
    assert isinstance(linearized, Linearized)
    for name, (nodes, inner) in (("word", word), ("tag", tag)):
        assert carriers(linearized, name)[0].tolist() == nodes and carriers(linearized, name)[1] == inner
    assert_carriers(linearized)
    assert_facts(linearized)


def test_a_forest_and_a_chain():
    forest = Forest(
        np.array([0, 2, 2, 2, 3]),
        np.array([1, 2, 0]),
        word=np.array([3, 0, 4, 1], np.int8),
        tag=np.array([-1, 0, 7, -9]),
    )
    linearized = check_against_reference(LISTED, forest)
    assert isinstance(linearized, Linearized)
    assert_carriers(linearized)
    assert_facts(linearized)
    chain = Node((), word=1, tag=None)
    for step in range(1000):
        chain = Node((chain,), **({"word": step % 10} if step % 3 else {}))
    linearized = check_against_reference(LISTED, chain)
    assert isinstance(linearized, Linearized)
    assert_carriers(linearized)
    assert linearized.num_inner_with_word == 666
