"""Integers divided by what a node carries: where that is zero the call ends, in the oracle too, never the process."""

from __future__ import annotations

import numpy as np
import pytest

import cortex
from cortex import Node, ra
from ragged.errors import DataError, ModelError
from tests.support.agreement import check_agreement

N, H = ra.N, 4


def shared_out(share) -> ra.Model:
    """Return a model that adds up its children, and at each node what `share` makes of the number that it carries."""
    parts = ra.node_input("parts", dtype="int32")
    ph = ra.placeholder((N, H))
    body = ra.compute(
        (N, H), lambda n, i: ra.sum_children(n, lambda k: ph[k, i]) + share(parts[n], i), name="h"
    )
    return ra.recursion_op(ph, body, structure=ra.Tree())


def tree(*parts: int) -> Node:
    first, second, root = parts
    return Node([Node([], parts=first), Node([], parts=second)], parts=root)


def agree(fn, model: ra.Model, given: list[Node]) -> None:
    rows = [{"h": each} for each in fn(given).nodes("h")]
    check_agreement(rows, ra.evaluate(model, {}, given), "machine code")


GUARDED = {
    "where": lambda d, i: ra.where(d == 0, -1, 12 // d + i % d),
    "and": lambda d, i: ra.where((d != 0) & (12 // d > i), 1, 2),
    "or": lambda d, i: ra.where((d == 0) | (i % d > 1), 1, 2),
    "never": lambda d, i: 12 // (d * d + 1) - i % (i + 1),
}


@pytest.mark.parametrize("share", [lambda d, i: 12 // d + i, lambda d, i: (7 + i) % d], ids=["//", "%"])
def test_a_divisor_that_a_node_carries(share):
    model = shared_out(share)
    fn = cortex.compile(model, {}, threads=2)
    good = [tree(3, -5, 1), tree(7, 2, -1)]
    agree(fn, model, good)
    bad = [tree(3, 4, 1), tree(1, 0, 1)]
    with pytest.raises(DataError, match=r"divides by 0\n.*at test_divisions.py"):
        fn(bad)
    with pytest.raises(DataError, match=r"evaluate: '.*parts\[n\]' divides by 0") as refused:
        ra.evaluate(model, {}, bad)
    assert refused.value.fix == "ra.where(divisor != 0, ..., ...)"
    agree(fn, model, good)


@pytest.mark.parametrize("guard", GUARDED)
def test_what_is_not_evaluated_divides_by_anything(guard):
    model = shared_out(GUARDED[guard])
    fn = cortex.compile(model, {}, threads=2)
    given = [tree(0, 4, 1), tree(1, 0, 0)]
    agree(fn, model, given)
    assert "kept" not in fn.show("checks") or " 0 kept" in fn.show("checks")


def test_dividing_by_the_number_zero_is_refused_where_it_is_written():
    with pytest.raises(
        ModelError, match=r"'.*parts\[n\] // 0' divides by 0\n.*at test_divisions.py"
    ) as refused:
        shared_out(lambda d, i: d // 0)
    assert refused.value.because == "it has no value"
    with pytest.raises(ModelError, match="divides by 0"):
        shared_out(lambda d, i: d % 0)


def test_the_least_integer_by_minus_one():
    fn = cortex.compile(shared_out(lambda d, i: (d * 1 + i * 0) // -1), {}, threads=1)
    assert np.isfinite(fn([tree(-(2**31), 1, 2)])["h"]).all()
