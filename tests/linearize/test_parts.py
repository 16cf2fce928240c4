"""Which structures are whose, of those who share a batch out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cortex.ilir.plan import Plan, StructureKind
from cortex.linearize import Linearized, Linearizer, linearize
from cortex.linearize.reference.parts import parts_of
from ragged.errors import DataError, InternalError
from tests.linearize.support import BINARY, DAG, check_against_reference
from tests.linearize.test_facts import assert_facts, assert_parts, assert_storage

PARTED = replace(BINARY, parted=True)
RECYCLED = replace(BINARY, recycled=True)


def tree(leaves: int) -> object:
    """Return a chain of so many leaves: twice as many nodes but one."""
    return leaves % 10 if leaves == 1 else (leaves % 10, tree(leaves - 1))


def test_a_worked_example():
    result = check_against_reference(PARTED, [((1, 2), 3), 4, (5, 6), (7, 8)], sharing=2)
    assert isinstance(result, Linearized)
    #  the first, of five nodes, and the second are one part; the others the other one
    assert result.num_parts == 2
    assert result.part_begin.tolist() == [[4, 8, 12], [1, 2, 4], [0, 1, 1]]
    assert result.part.tolist() == [0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]
    assert result.rows.tolist() == [4, 5, 1, 6, 0, 7, 8, 9, 2, 10, 11, 3]
    assert_facts(result)


@pytest.mark.parametrize(
    ("nodes", "sharing", "count", "parts"),
    [
        ([], 2, 1, []),
        ([5], 1, 1, [0]),
        ([5], 2, 1, [0]),
        ([5, 5], 2, 2, [0, 1]),
        ([5, 6], 2, 2, [1, 0]),
        ([4, 5], 2, 1, [0, 0]),  # five is more than a tenth more than four and a half
        ([9, 11], 2, 2, [1, 0]),
        ([3, 9, 3, 3], 2, 2, [1, 0, 1, 1]),
        ([0, 0], 2, 1, [0, 0]),
        ([1, 1, 1], 3, 3, [0, 1, 2]),
        ([2, 2, 2, 2], 3, 1, [0] * 4),
    ],
)
def test_the_largest_come_first(nodes, sharing, count, parts):
    assert parts_of(nodes, sharing) == (count, parts)


@pytest.mark.parametrize("sharing", [1, 2, 3, 8, 100])
@pytest.mark.parametrize("plan", [PARTED, replace(PARTED, widest=3)])
def test_many_structures(sharing, plan):
    random = np.random.default_rng(sharing)
    for count in (0, 1, 2, 9, 60):
        batch = [tree(int(leaves)) for leaves in random.integers(1, 30, count)]
        result = check_against_reference(plan, batch, sharing=sharing)
        assert isinstance(result, Linearized)
        assert_facts(result)
        assert_parts(result, sharing)
    assert result.num_parts == (1 if sharing == 100 else sharing)


def test_of_a_plan_that_is_recycled_nodes_of_parts_have_rows_of_their_own():
    plan = replace(RECYCLED, parted=True, most_apart=20)
    few = check_against_reference(plan, [tree(5), tree(5)], sharing=2)
    many = check_against_reference(plan, [tree(6), tree(6)], sharing=2)
    assert isinstance(few, Linearized) and isinstance(many, Linearized)
    assert (few.num_parts, few.num_nodes, few.storage_rows) == (2, 18, 18)
    assert (many.num_parts, many.num_nodes) == (1, 22) and many.storage_rows < 22
    for each in (few, many):
        assert_facts(each)
        assert_storage(each)


def test_a_batch_that_was_linearized_without_parts_has_one():
    batch = [tree(4), tree(4), tree(3)]
    given = linearize(BINARY, batch)
    result = Linearizer(PARTED, sharing=2)(given)
    assert result.num_parts == 1 and not result.part.any()
    assert (
        result.part_begin.tolist()
        == np.stack([given.batch_begin, given.batch_begin + given.batch_length]).T.tolist()
    )
    assert_facts(result)
    plan = replace(RECYCLED, parted=True, most_apart=100)
    result = Linearizer(plan, sharing=2)(given)
    assert (result.num_parts, result.storage_rows) == (1, given.num_nodes)
    assert_facts(result)
    kept = Linearizer(plan, sharing=2)(linearize(PARTED, batch[:2], sharing=2))
    assert (kept.num_parts, kept.storage_rows) == (2, kept.num_nodes)
    assert_facts(kept)


def test_a_batch_with_parts_does_for_a_plan_without():
    given = linearize(PARTED, [tree(4), tree(4)], sharing=2)
    assert Linearizer(BINARY)(given) is given
    with pytest.raises(DataError):
        Linearizer(DAG)(given)


def test_arrays_of_parts_that_do_not_fit():
    given = linearize(PARTED, [tree(4), tree(4)], sharing=2)
    with pytest.raises(DataError, match=r"part_begin.*\(4, 3\)"):
        replace(given, part_begin=given.part_begin[:, :2])
    with pytest.raises(DataError, match="part"):
        replace(given, part=given.part[1:])


@pytest.mark.parametrize(
    "plan", [{"unrolled": 1}, {"most_apart": 3}, {"recycled": True}, {"parted": False, "most_apart": 3}]
)
def test_plans_that_have_no_parts(plan):
    with pytest.raises(InternalError):
        Plan(StructureKind.TREE, 2, 2, (), (0, 1), **{"parted": True, **plan})
