"""Vectorized loops over the first lanes of a vector: one masked store or load, and nothing behind it is touched."""

import numpy as np
import pytest

from ragged.analysis.masked_copies import masked_copy
from ragged.codegen.build import compile_program
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


def copies(program):
    loops = (the_loop(program, var, "the test") for var in index_of(program).loops if var.name == "j")
    return [copy for copy in map(masked_copy, loops) if copy is not None]


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_lanes_behind_the_end_are_not_stored(lanes):
    program = parse(STORES.format(lanes=lanes, extent=f"min(n, {lanes})", shift=""))
    assert [(copy.lanes, copy.stores) for copy in copies(program)] == [(lanes, True)]
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
    assert [(copy.stores, copy.contiguous) for copy in copies(program)] == [(True, False)]
    assert "llvm.masked.scatter" in compile_program(program).module.inspect_source("ll")
    x = np.random.default_rng(0).standard_normal((4, lanes), np.float32)
    for count in (0, 1, lanes - 1, lanes):
        np.testing.assert_array_equal(check_both(program, n=count, x=x)["y"], x[:, :count].T * 2)


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_lanes_behind_the_end_are_zero_and_not_loaded(lanes):
    program = parse(LOADS.format(lanes=lanes))
    assert [(copy.lanes, copy.stores) for copy in copies(program)] == [(lanes, False)]
    assert "llvm.masked.load" in compile_program(program).module.inspect_source("ll")
    for count in (0, 1, 2, 3, lanes + 1, lanes + 2, lanes + 40):
        x = np.random.default_rng(count).standard_normal((4, count), np.float32)
        want = np.zeros((4, lanes), np.float32)
        want[:, : max(0, min(lanes, count - 2))] = x[:, 2 : lanes + 2]
        np.testing.assert_array_equal(check_both(program, n=count, x=x)["y"], want)


@pytest.mark.parametrize(("extent", "shift"), [("min(n, 6)", ""), ("min(n, 7)", " + 1")])
def test_what_is_no_masked_copy_runs_one_lane_after_another(extent, shift):
    program = parse(STORES.format(lanes=8, extent=extent, shift=shift))
    x = np.random.default_rng(0).standard_normal((4, 8), np.float32)
    check_both(program, n=4, x=x)
