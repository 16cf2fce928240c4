"""Vectorized loops over the first lanes of a vector: one masked store or load, and nothing behind it is touched."""

import numpy as np
import pytest

from ragged.analysis.masked_lanes import stored_lanes
from ragged.codegen.build import compile_program
from ragged.codegen.vector_rows import stores_rows
from ragged.ir.index import index_of
from ragged.ir.parser import parse
from ragged.transform.locate import the_loop
from tests.ragged.codegen.hand import check_both

STORES = """\
program("stores")

n: call()
x: payload(float32[4, {lanes}])
y: output(float32[4, n])

with kernel:
    for i in serial(4):
        t = local(float32[2, {lanes}])
        for j in vectorized({lanes}):
            t[1, j] = x[i, j] * 2.0
        for j in vectorized({extent}):
            y[i, j] = t[1, j{shift}]
"""
LOADS = """\
program("loads")

n: call()
x: payload(float32[4, n])
y: output(float32[4, {lanes}])

with kernel:
    for i in serial(4):
        for j in vectorized({lanes}):
            y[i, j] = x[i, j + 2] if j + 2 < n else 0.0
"""


def stored(program):
    loops = (the_loop(program, var, "the test") for var in index_of(program).loops if var.name == "j")
    return [lanes for lanes in map(stored_lanes, loops) if lanes is not None]


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_lanes_behind_the_end_are_not_stored(lanes):
    program = parse(STORES.format(lanes=lanes, extent=f"min(n, {lanes})", shift=""))
    assert stored(program) == [lanes]
    assert "llvm.masked.store" in compile_program(program).module.inspect_source("ll")
    x = np.random.default_rng(0).standard_normal((4, lanes), np.float32)
    for count in (0, 1, lanes - 1, lanes):  # a row begins where the one before ends
        np.testing.assert_array_equal(check_both(program, n=count, x=x)["y"], x[:, :count] * 2)


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_lanes_are_scattered_where_they_are_apart(lanes):
    text = STORES.format(lanes=lanes, extent=f"min(n, {lanes})", shift="")
    program = parse(
        text.replace("y: output(float32[4, n])", "y: output(float32[n, 4])").replace("y[i, j]", "y[j, i]")
    )
    assert stored(program) == [lanes]
    assert "llvm.masked.scatter" in compile_program(program).module.inspect_source("ll")
    x = np.random.default_rng(0).standard_normal((4, lanes), np.float32)
    for count in (0, 1, lanes - 1, lanes):
        np.testing.assert_array_equal(check_both(program, n=count, x=x)["y"], x[:, :count].T * 2)


ROWS = """\
program("rows")

n: call()
x: payload(float32[4, n])
b: payload(float32[4, n])
y: output(float32[{shape}])
z: output(float32[4, n])

with kernel:
    for i in serial(4):
        t = local(float32[{lanes}])
        for j in vectorized({lanes}):
            t[j] = x[i, j] if j < n else 0.0
        for j in vectorized(min(n, {lanes})):
            y[{place}] = max(t[j] * b[i, j] + b[i, n - 1], 0.5)
            z[i, j] = t[j] - b[i, j]
"""


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize(("shape", "place"), [("4, n", "i, j"), ("n, 4", "j, i")])
def test_lanes_of_what_is_computed_are_stored(lanes, shape, place):
    program = parse(ROWS.format(lanes=lanes, shape=shape, place=place))
    code = compile_program(program).module.inspect_source("ll")
    assert "llvm.masked.store" in code and ("llvm.masked.scatter" in code) == (shape == "n, 4")
    for count in (0, 1, lanes - 1, lanes):
        x, b = (np.random.default_rng(seed).standard_normal((4, count), np.float32) for seed in (1, 2))
        found = check_both(program, n=count, x=x, b=b)
        want = np.maximum(x * b + b[:, count - 1 : count], np.float32(0.5))
        np.testing.assert_allclose(found["y"] if shape == "4, n" else found["y"].T, want, rtol=1e-6)


@pytest.mark.parametrize(
    "statement",
    [
        "y[j] = t[j] + x[at(j)]",
        "y[j] = t[j] + x[at(0)]",
        "y[j] = y[min(j + 1, n - 1)]",
        "y[j] = t[j] if t[j] > 0.0 else x[j]",
        "y[j // 2] = t[j]",
    ],
)
def test_lanes_that_are_not_stored_together(statement):
    """Indices that are read, and elements that other lanes store or choose, are those of lanes that run alone."""
    text = ROWS.format(lanes=8, shape="n", place="j").replace("for i in serial(4)", "for i in serial(1)")
    head, _, _ = text.replace("[4, n]", "[n]").replace("[i, j]", "[j]").partition("            y[")
    head = head.replace("b: payload(float32[n])", "at: input(j < n) = facts(0 <= at(j) < n)")
    program = parse(head.replace("z: output(float32[n])\n", "") + f"            {statement}\n")
    assert "llvm.masked.store" not in compile_program(program).module.inspect_source("ll")


CHOSEN = """\
program("chosen")

n: call()
x: payload(float32[4, n])
b: payload(float32[4, n])
y: output(float32[4, n])

with kernel:
    for i in serial(4):
        t = local(float32[8])
        for j in vectorized(8):
            t[j] = b[i, j] if j < n else 0.0
        for j in vectorized(min(n, 8)):
            y[i, j] = {value}
"""


@pytest.mark.parametrize(
    ("value", "formula"),
    [
        ("t[j] if x[i, j] > 0.0 else 0.0", lambda x, b: np.where(x > 0, b, 0)),
        ("b[i, j] + 1.0 if x[i, j] <= t[j] else t[j] * x[i, j]", lambda x, b: np.where(x <= b, b + 1, b * x)),
        (
            "0.5 if x[i, j] != x[i, n - 1] else t[j]",
            lambda x, b: np.where(x != x[:, -1:], np.float32(0.5), b),
        ),
    ],
)
def test_lanes_choose_by_what_they_hold(value, formula):
    program = parse(CHOSEN.format(value=value))
    assert "llvm.masked.store" in compile_program(program).module.inspect_source("ll")
    for count in (1, 3, 8):
        x, b = (np.random.default_rng(seed).standard_normal((4, count), np.float32) for seed in (1, 2))
        x[0, 0] = x[3, -1] = np.nan
        b[1] = x[1]
        np.testing.assert_array_equal(check_both(program, n=count, x=x, b=b)["y"], formula(x, b))


@pytest.mark.parametrize(
    "value",
    [
        "b[i, 7 - n + j] if x[i, j] > 0.0 else 0.0",
        "t[j] if x[i, j] > (1.0 if x[i, j] > 2.0 else 0.0) else 0.0",
        "t[j] if x[i, j] > 0.0 and x[i, j] < 1.0 else 0.0",
    ],
)
def test_what_only_some_lanes_may_read_is_read_one_by_one(value):
    assert "llvm.masked.store" not in compile_program(
        parse(CHOSEN.format(value=value))
    ).module.inspect_source("ll")


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_lanes_behind_the_end_are_zero_and_not_loaded(lanes):
    program = parse(LOADS.format(lanes=lanes))
    assert "llvm.masked.load" in compile_program(program).module.inspect_source("ll")
    for count in (0, 1, 2, 3, lanes + 1, lanes + 2, lanes + 40):
        x = np.random.default_rng(count).standard_normal((4, count), np.float32)
        want = np.zeros((4, lanes), np.float32)
        want[:, : max(0, min(lanes, count - 2))] = x[:, 2 : lanes + 2]
        np.testing.assert_array_equal(check_both(program, n=count, x=x)["y"], want)


RANGES = """\
program("ranges")

n: call()
d: call()
x: payload(float32[4, n])
z: payload(float32[4, 8])
y: output(float32[4, 8])

with kernel:
    for i in serial(4):
        for j in vectorized(8):
            y[i, j] = {value}
"""
CONDITIONS = {
    "{at} >= 0 and {at} < n": lambda at, j, n, d: 0 <= at < n,
    "{at} > 0 - 1 and n > {at}": lambda at, j, n, d: 0 <= at < n,
    "0 <= {at} and {at} <= n - 1 and d < 35": lambda at, j, n, d: 0 <= at < n and d < 35,
    "d >= 30 and (1 <= j and (0 - 1 < {at} and n >= {at} + 1))": lambda at, j, n, d: (
        d >= 30 and j >= 1 and 0 <= at < n
    ),
}
VALUES = {
    "x[i, {at}] if {condition} else 0.0": lambda x, z: (x, 0.0),
    "x[i, {at}] if {condition} else 3.0": lambda x, z: (x, 3.0),
    "x[i, {at}] * 2.0 + z[i, j] if {condition} else z[i, j]": lambda x, z: (x * np.float32(2) + z, z),
    "x[i, {at}] + x[i, n - 1] * x[3, n - 1] if {condition} else 0.0 - 1.0": None,
}


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("value", VALUES)
def test_lanes_in_a_range_are_chosen_and_no_others_read(value, condition):
    at = "j - d + 30"
    program = parse(RANGES.format(value=value.format(condition=condition.format(at=at), at=at)))
    (lanes,) = (var for var in index_of(program).loops if var.name == "j")
    assert stores_rows(the_loop(program, lanes, "the test"))
    for n in (0, 1, 3, 8, 20):
        for d in (0, 27, 29, 30, 32, 35, 37, 38, 70):
            random = np.random.default_rng(n)
            x, z = (random.standard_normal((4, count), np.float32) for count in (n, 8))
            found = check_both(program, n=n, d=d, x=x, z=z)["y"]
            for j in range(8) if VALUES[value] is not None else ():
                inside = CONDITIONS[condition](j - d + 30, j, n, d)
                chosen, other = VALUES[value](x[:, j - d + 30] if inside else 0.0, z[:, j])
                np.testing.assert_array_equal(found[:, j], chosen if inside else other)


@pytest.mark.parametrize(("extent", "shift"), [("min(n, 6)", ""), ("min(n, 7)", " + 1")])
def test_what_is_no_masked_copy_runs_one_lane_after_another(extent, shift):
    program = parse(STORES.format(lanes=8, extent=extent, shift=shift))
    x = np.random.default_rng(0).standard_normal((4, 8), np.float32)
    check_both(program, n=4, x=x)
