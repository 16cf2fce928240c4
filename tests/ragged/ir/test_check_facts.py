"""What facts mean, on data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged.errors import DataError
from ragged.ir.build import add, index, sub
from ragged.ir.expr import Call, Const, Expr, Function, Param, Ref, Source, Var
from ragged.ir.fact import Fact
from ragged.ir.facts import Injective, Monotone, Owner, PrefixSum, Range, Shares, Tiling, UpperBound
from ragged.ir.ops import BinaryOp
from ragged.ir.pointer_facts import Descends, Follows, Layered, Uniform
from tests.support.check_facts import violation


def size(name: str) -> Function:
    return Function(name, (), Source.INPUT)


def table(name: str, *extents: Expr) -> Function:
    return Function(name, tuple(Param(Var(f"a{k}"), e) for k, e in enumerate(extents)), Source.INPUT)


N = size("n")
F = table("f", Call(N))
B = size("batches")
BEGIN, LENGTH = table("begin", Call(B)), table("length", Call(B))
FIRST, TOTAL = size("first"), size("total")
OFFSET, STEP = table("offset", add(Call(N), 1)), table("step", Call(N))
POINTER = table("pointer", Call(FIRST))
VIA = table("via", add(Call(FIRST), 1))
EDGE = table("edge", Call(size("edges")))
TOP, START = table("top", Call(size("tops"))), table("start", add(Call(size("steps")), 1))
GROUP, HEIGHT, DOWN = table("group", Const(3)), table("height", Const(3)), table("down", Const(2))
LAYERED, DESCENDS = Layered(TOP, START, GROUP, HEIGHT, 2), Descends(DOWN, GROUP, HEIGHT, 2)
STEPS = {"tops": 1, "steps": 1, "group": [0, 0, -1], "height": [4, 3, 0]}
"""Nodes 0 and 1 are of step 1, 1 below 0, and 2 is a leaf."""
SHARES = Shares(OFFSET, N, Const(3))
TILING = Tiling(BEGIN, LENGTH, Call(FIRST), Call(TOTAL))


def check(fact: Fact, **data: int | list) -> str | None:
    """Lists are arrays, and numbers sizes."""
    sizes = {name: value for name, value in data.items() if isinstance(value, int)}
    arrays = {name: np.array(value, np.int32) for name, value in data.items() if isinstance(value, list)}
    return violation(fact, sizes, arrays)


OWN = Ref(F.params[0].var)


@pytest.mark.parametrize(
    ("fact", "data", "text"),
    [
        (Range(F, add(OWN, 1), Const(9)), {"n": 4, "f": [1, 8, 5, 2]}, "f(3) = 2 is not in [4, 9)"),
        (Range(F, Const(0), Call(N)), {"n": 2, "f": [1, 2]}, "f(1) = 2 is not in [0, 2)"),
        (Range(N, Const(1), Const(9)), {"n": 0}, "n = 0 is not in [1, 9)"),
        (
            Range(F, Const(0), Call(F, (add(OWN, 1),))),
            {"n": 2, "f": [1, 2]},
            "f(2) is outside (2,), in 'a fact'",
        ),
        (UpperBound(F, STEP), {"n": 2, "f": [4, 0], "step": [4, 5]}, "step(1) = 5 is not <= f(0) = 4"),
        (Monotone(F), {"n": 3, "f": [1, 1, 0]}, "f(1) = 1 is not <= f(2) = 0"),
        (Monotone(F, strict=True), {"n": 3, "f": [1, 1, 2]}, "f(0) = 1 is not < f(1) = 1"),
        (Injective(F), {"n": 4, "f": [7, 1, 2, 7]}, "f(0) = f(3) = 7, which should differ"),
        (PrefixSum(OFFSET, STEP), {"n": 1, "offset": [1, 2], "step": [1]}, "offset(0) = 1 is not 0"),
        (PrefixSum(OFFSET, STEP), {"n": 1, "offset": [0, -1], "step": [-1]}, "step(0) = -1 is negative"),
        (
            PrefixSum(OFFSET, STEP),
            {"n": 2, "offset": [0, 2, 4], "step": [2, 3]},
            "offset(2) = 4 is not offset(1) + step(1) = 5",
        ),
        (PrefixSum(F, STEP), {"n": 2, "f": [0, 2], "step": [2, 3]}, "f has 2 values, and step has 2"),
        (
            Owner(F, OFFSET),
            {"n": 2, "f": [1, 0], "offset": [0, 0, 2]},
            "f(1) = 0, which has the places in [0, 0)",
        ),
        (Owner(F, OFFSET), {"n": 2, "f": [1, 2], "offset": [0, 0, 2]}, "f(1) = 2 is not in [0, 2)"),
        (Owner(F, OFFSET), {"n": 1, "f": [-1], "offset": [0, 1]}, "f(0) = -1 is not in [0, 1)"),
        (Shares(F, N, Const(3)), {"n": 2, "f": [0, 3]}, "f has 2 values for 2 shares"),
        (SHARES, {"n": 1, "offset": [1, 3]}, "offset(0) = 1 is not 0"),
        (SHARES, {"n": 1, "offset": [0, 2]}, "offset(1) = 2 is not 3"),
        (SHARES, {"n": 2, "offset": [0, 4, 3]}, "offset(1) = 4 is not <= offset(2) = 3"),
        (TILING, {"batches": 0, "begin": [], "length": []}, "begin has 0 values, and needs one"),
        (TILING, {"batches": 1, "begin": [1], "length": [2]}, "begin(0) = 1 is not 2"),
        (TILING, {"batches": 1, "begin": [2], "length": [2]}, "begin(0) + length(0) = 4 is not 5"),
        (TILING, {"batches": 2, "begin": [2, 1], "length": [3, 2]}, "begin(1) + length(1) = 3 is not 2"),
        (TILING, {"batches": 2, "begin": [2, 1], "length": [3, 1]}, "begin(1) = 1 is not 0"),
        (TILING, {"batches": 2, "begin": [2, 3], "length": [3, -1]}, "length(1) = -1 is negative"),
        (
            Follows(POINTER, BEGIN, LENGTH),
            {"batches": 2, "begin": [2, 0], "length": [3, 2], "pointer": [4, 1]},
            "pointer(1) = 1 is below begin(1) + length(1) = 2",
        ),
        (
            Follows(POINTER, BEGIN, LENGTH, optional=True),
            {"batches": 2, "begin": [2, 0], "length": [3, 2], "pointer": [-1, 1]},
            "pointer(1) = 1 is below begin(1) + length(1) = 2",
        ),
        (
            Follows(EDGE, BEGIN, LENGTH, VIA),
            {
                "batches": 2,
                "begin": [2, 0],
                "length": [3, 2],
                "edges": 3,
                "via": [0, 2, 3],
                "edge": [2, 4, 1],
            },
            "edge(2) = 1 is below begin(1) + length(1) = 2",
        ),
        (
            Uniform.of(F, BinaryOp.EQ, Const(7), BEGIN, LENGTH),
            {"n": 4, "f": [7, 7, 8, 7], "batches": 2, "begin": [3, 0], "length": [1, 3]},
            "f(2) = 8 is not == 7, and 2 is in [0, 3)",
        ),
        (
            Uniform.of(F, BinaryOp.GE, OWN, BEGIN, LENGTH),
            {"n": 4, "f": [1, 0, 2, 9], "batches": 1, "begin": [-1], "length": [9]},
            "f(1) = 0 is not >= 1, and 1 is in [-1, 8)",
        ),
        (LAYERED, {"top": [3], "start": [0, 1]}, "top(0) = 3 is no node"),
        (
            LAYERED,
            {"top": [0], "start": [0, 1], "group": [1, 0, -1]},
            "group(0) = 1 is not 0, the step's top that it is",
        ),
        (LAYERED, {"top": [1], "start": [0, 1], "group": [1, 0, -1]}, "height(1) = 3 is not in step 0"),
        (
            LAYERED,
            {
                "tops": 2,
                "steps": 2,
                "top": [1, 0],
                "start": [0, 0, 2],
                "group": [1, 0, -1],
                "height": [5, 3, 0],
            },
            "height(0) = 5 is not in step 1",
        ),
        (DESCENDS, {"down": [1, 3]}, "down(1) = 3 is no node"),
        (DESCENDS, {"down": [-1, 2]}, "down(0) = -1 is no node"),
        (DESCENDS, {"down": [1, 0]}, "down(1) = 0 has height 4, and 1 has 3"),
        (
            DESCENDS,
            {"down": [1, 2], "group": [1, 0, -1]},
            "down(0) = 1 is in the step of 0, and not of its group",
        ),
        (
            Descends(DOWN, GROUP, HEIGHT, 2, via=table("via", Const(3)), optional=True),
            {"down": [-1, 0], "via": [0, 1, 2]},
            "down(1) = 0 has height 4, and 1 has 3",
        ),
    ],
)
def test_the_first_counterexample(fact: Fact, data: dict, text: str):
    assert check(fact, **STEPS | {"first": 2, "total": 5} | data) == text


@pytest.mark.parametrize(
    ("fact", "data"),
    [
        (Range(F, add(OWN, 1), Const(9)), {"n": 0, "f": []}),
        (Range(F, Const(-1), Call(N)), {"n": 2, "f": [-1, 1]}),
        (Monotone(F), {"n": 3, "f": [1, 1, 2]}),
        (Monotone(F, strict=True), {"n": 1, "f": [1]}),
        (Injective(F), {"n": 3, "f": [2, 0, 1]}),
        (PrefixSum(OFFSET, STEP), {"n": 0, "offset": [0], "step": []}),
        (PrefixSum(OFFSET, STEP), {"n": 3, "offset": [0, 0, 2, 3], "step": [0, 2, 1]}),
        (Owner(F, OFFSET), {"n": 0, "f": [], "offset": [0]}),
        (Owner(F, OFFSET), {"n": 3, "f": [1, 1, 2], "offset": [0, 0, 2, 3]}),
        (SHARES, {"n": 1, "offset": [0, 3]}),
        (SHARES, {"n": 4, "offset": [0, 0, 2, 2, 3]}),
        (TILING, {"batches": 1, "begin": [0], "length": [0], "first": 0, "total": 0}),
        (TILING, {"batches": 3, "begin": [2, 2, 0], "length": [3, 0, 2]}),
        # Leaves stand outside the pointer's domain.
        (
            Follows(POINTER, BEGIN, LENGTH),
            {"batches": 2, "begin": [2, 0], "length": [3, 2], "pointer": [4, 2]},
        ),
        (
            Follows(POINTER, BEGIN, LENGTH, optional=True),
            {"batches": 2, "begin": [2, 0], "length": [3, 2], "pointer": [-1, 2]},
        ),
        # What is in no range, or out of the function's domain, may be anything.
        (
            Uniform.of(F, BinaryOp.NE, Const(7), BEGIN, LENGTH),
            {"n": 3, "f": [7, 1, 2], "batches": 3, "begin": [1, 0, 2], "length": [2, 0, 5]},
        ),
        (LAYERED, {"top": [0], "start": [0, 0]}),
        (LAYERED, {"top": [1], "start": [0, 1], "group": [0, 0, -1], "height": [2, 2, 0]}),
        # In the same step and of one group, or of two and a step apart.
        (DESCENDS, {"down": [1, 2]}),
        (DESCENDS, {"down": [1, 2], "group": [1, 0, -1], "height": [3, 2, 0]}),
        (Descends(DOWN, GROUP, HEIGHT, 2, optional=True), {"down": [-1, 2]}),
        (Descends(DOWN, GROUP, HEIGHT, 2, via=table("via", Const(4))), {"down": [2, 2], "via": [0, 1, 2, 2]}),
    ],
)
def test_what_holds(fact: Fact, data: dict):
    assert check(fact, **STEPS | {"first": 2, "total": 5} | data) is None


def test_a_function_of_two_parameters_whose_second_extent_depends_on_the_first():
    a, b = Var("a"), Var("b")
    body = sub(Const(2), Ref(b))
    f = Function("f", (Param(a, Const(3)), Param(b, add(Ref(a), 1))), Source.EXPRESSION, body)
    assert violation(Range(f, Const(0), Const(3)), {}, {}) is None
    assert violation(Range(f, Const(1), Const(3)), {}, {}) == "f(2, 2) = 0 is not in [1, 3)"


def test_data_that_is_missing():
    with pytest.raises(DataError, match="'f' is read and was not given"):
        check(Monotone(F), n=2)
    with pytest.raises(DataError, match="'n' is used and was not given"):
        check(Monotone(F), f=[1, 2])


@given(st.lists(st.integers(-3, 3), max_size=5), st.integers(-3, 3), st.integers(-3, 3))
def test_against_numpy(values: list[int], lower: int, upper: int):
    f = np.array(values, np.int32)
    in_range = bool(((f >= lower) & (f < upper)).all())
    assert (check(Range(F, index(lower), index(upper)), n=len(values), f=values) is None) == in_range
    assert (check(Monotone(F), n=len(values), f=values) is None) == bool((np.diff(f) >= 0).all())
    assert (check(Monotone(F, True), n=len(values), f=values) is None) == bool((np.diff(f) > 0).all())
    assert (check(Injective(F), n=len(values), f=values) is None) == (len(set(values)) == len(values))
