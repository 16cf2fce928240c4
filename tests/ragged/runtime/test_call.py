"""Calls: what they take, which memory is the caller's, and how little Python they run."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.codegen.entry import CompiledCheckFailed
from ragged.errors import DataError, InternalError
from ragged.ir.expr import Ref, Role, Var
from ragged.ir.program import StageKind
from ragged.ir.stmt import Check, Label, LoopKind, block
from ragged.runtime.call import Caller
from ragged.runtime.memory import raw_address
from tests.ragged.codegen.hand import at, buffer, f32, loop, op, output, program, size, store

W = np.arange(16, dtype=np.float32)


def scaled():
    """out[i, j] = 2 * x[i] * w[j] by way of a workspace, for x[i] < 100."""
    n, i, j = size("n"), Var("i"), Var("j")
    w, x = buffer("w", 16), buffer("x", n, role=Role.PAYLOAD, align=4)
    scratch, out = buffer("scratch", n, 16, role=Role.WORKSPACE), output("out", n, 16)
    check = Check(Label("small"), op("<", at(x, i), f32(100.0)), "x[{0}] = {1}", (Ref(i), at(x, i)))
    product = loop(j, 16, store(scratch, (i, j), op("*", at(x, i), at(w, j))), LoopKind.VECTORIZED)
    k = Var("k")
    double = loop(
        k, 16, store(out, (i, k), op("+", at(scratch, i, k), at(scratch, i, k))), LoopKind.VECTORIZED
    )
    return program(loop(i, n, block(check, product, double)), n, w, x, scratch, out)


@pytest.fixture(scope="module")
def entry():
    return compile_program(scaled()).entry(StageKind.KERNEL)


@pytest.fixture
def caller(entry):
    return Caller([entry], {"w": W})


def test_a_call_is_given_what_is_not_bound(entry):
    assert [a.name for a in Caller([entry], {}).wanted] == ["n", "w", "x"]
    assert [a.name for a in Caller([entry], {"w": W, "n": 3}).wanted] == ["x"]
    assert Caller([entry], {"w": W, "n": 3})({"x": np.ones(3, np.float32)})["out"].shape == (3, 16)


def test_results_own_their_memory(caller):
    x = np.ones(3, np.float32)
    first = caller({"n": 3, "x": x})["out"]
    kept = first.copy()
    second = caller({"n": 3, "x": 2 * x})["out"]
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(second, 2 * kept)
    assert raw_address(first) % 64 == 0


def test_parameters_of_any_strides_and_alignment(entry):
    x = np.ones(2, np.float32)
    plain = Caller([entry], {"w": W})({"n": 2, "x": x})["out"]
    strided = np.repeat(W, 2)[::2]
    odd = np.empty(65, np.uint8)[1:].view(np.float32)
    odd[...] = W
    frozen = W.copy()
    frozen.flags.writeable = False
    for w in (strided, odd, frozen):
        np.testing.assert_array_equal(Caller([entry], {"w": w})({"n": 2, "x": x})["out"], plain)


def test_payloads_that_begin_anywhere(caller):
    memory = np.ones(64, np.float32)
    for begin in range(17):
        out = caller({"n": 3, "x": memory[begin : begin + 3]})["out"]
        np.testing.assert_array_equal(out, np.tile(2 * W, (3, 1)))


def test_what_is_no_argument(entry, caller):
    with pytest.raises(InternalError, match="no arguments are named v"):
        Caller([entry], {"v": W})
    with pytest.raises(InternalError, match="a call of no stages"):
        Caller([], {})
    with pytest.raises(DataError, match="'x': float32 array expected, not float64 array"):
        caller({"n": 2, "x": np.ones(2)})
    with pytest.raises(DataError, match="'x': its array is not C-contiguous"):
        caller({"n": 2, "x": np.ones(4, np.float32)[::2]})
    with pytest.raises(DataError, match="'x': float32 array expected, not None"):
        caller({"n": 2, "x": None})


def test_a_failed_call_does_not_spoil_the_next(caller):
    bad = np.array([1, 2, 500], np.float32)
    for _ in range(3):
        with pytest.raises(CompiledCheckFailed) as error:
            caller({"n": 3, "x": bad})
        assert str(error.value) == "x[2] = 500.0"
        assert caller({"n": 2, "x": bad})["out"][1, 1] == 4.0


def test_many_threads_call_one_caller(caller):
    def work(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        for _ in range(50):
            x = rng.standard_normal(rng.integers(0, 40)).astype(np.float32)
            out = caller({"n": len(x), "x": x})["out"]
            if not np.array_equal(out, 2 * (x[:, None] * W)):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_python_s_work_does_not_grow_with_the_data(caller):
    def events(count: int) -> int:
        x = np.ones(count, np.float32)
        caller({"n": count, "x": x})
        seen = 0

        def note(frame, event, arg):
            nonlocal seen
            seen += 1

        sys.setprofile(note)
        try:
            caller({"n": count, "x": x})
        finally:
            sys.setprofile(None)
        return seen

    assert events(10) == events(1000) < 100


def test_a_batch_of_nothing(caller):
    assert caller({"n": 0, "x": np.empty(0, np.float32)})["out"].shape == (0, 16)
