"""Equal loop nests become one function, and compute what each of them says."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.codegen.entry import CompiledCheckFailed
from ragged.codegen.shared_nests import share_nests
from ragged.codegen.tir import stage_function
from ragged.ir.dtype import DType
from ragged.ir.expr import Buffer, Const, Ref, Role, Var
from ragged.ir.interpret import interpret
from ragged.ir.program import Program, StageKind
from ragged.ir.stmt import Alloc, Check, Label, LoopKind, block
from tests.ragged.codegen.hand import at, buffer, call, f32, loop, op, output, program, run, store

ROWS, COLUMNS = 3, 16
X, Y, A, B = (buffer(name, ROWS, COLUMNS) for name in "xyab")
P, Q = output("p", ROWS, COLUMNS), output("q", ROWS, COLUMNS)


def nest(target, source, other, *, scale: float = 2.0, stores: int = 16, function: str = "abs"):
    """Return unrolled rows: `target = function(source) * scale + other` in so many columns."""
    i, copy = Var("i"), Var("copy")
    value = op("+", op("*", call(function, at(source, i, copy)), f32(scale)), at(other, i, copy))
    body = loop(copy, stores, store(target, (i, copy), value), LoopKind.UNROLLED)
    return loop(i, ROWS, body)


def checked(*nests) -> Program:
    """Return a program of nests, one after another, and check that its code stores what the interpreter does."""
    made = program(block(*nests), X, Y, A, B, P, Q)
    rng = np.random.default_rng(0)
    arrays = {name: rng.standard_normal((ROWS, COLUMNS)).astype(np.float32) for name in "xyab"}
    got, expected = run(made, **arrays), interpret(made, {}, arrays)
    for name in "pq":
        written = ~np.isnan(expected[name])
        assert written.any()
        np.testing.assert_array_equal(got[name][written], expected[name][written])
    return made


def calls(made: Program) -> dict[str, list[str]]:
    """Return the shared functions that each function calls; the kernel's name is ''."""
    function, shared = share_nests(stage_function(made, made.stages[0]).function, "p")
    texts = {"": function.script()} | {callee.name_hint: each.script() for callee, each in shared.items()}
    return {name: re.findall(r"shared_p_\d+(?=\()", text) for name, text in texts.items()}


def test_nests_that_differ_in_their_buffers_alone():
    made = checked(nest(P, X, A), nest(Q, Y, B))
    assert calls(made) == {"": ["shared_p_0", "shared_p_0"], "shared_p_0": []}


def test_nests_in_what_is_shared_are_shared_too():
    i, j, k = Var("i"), Var("j"), Var("k")
    twice = (loop(i, 2, nest(P, X, A)), loop(j, 2, nest(P, Y, B)))
    made = checked(*twice, nest(Q, Y, B), loop(k, 3, nest(Q, Y, A)))
    assert calls(made) == {
        "": ["shared_p_0", "shared_p_0", "shared_p_1", "shared_p_1"],
        "shared_p_0": ["shared_p_1"],
        "shared_p_1": [],
    }


def test_variables_of_loops_around_are_arguments():
    i, j = Var("i"), Var("j")

    def row(target, source, outer):
        copy, once = Var("copy"), Var("once")
        value = call("abs", at(source, outer, copy))
        return loop(once, 1, loop(copy, 16, store(target, (outer, copy), value), LoopKind.UNROLLED))

    made = checked(loop(i, ROWS, row(P, X, i)), loop(j, ROWS - 1, row(Q, Y, j)))
    assert calls(made) == {"": ["shared_p_0", "shared_p_0"], "shared_p_0": []}


def test_what_is_stored_before_a_call_is_read_in_it():
    """Also where LLVM copies the function to its callers, which know the buffers under other names."""

    def doubled(target, source, scale):
        own = Buffer(f"own{scale}", DType.FLOAT32, (Const(COLUMNS),), Role.LOCAL)
        row, i, j, copy = Var("row"), Var("i"), Var("j"), Var("copy")
        fill = loop(i, COLUMNS, store(own, (i,), op("*", at(source, row, i), f32(scale))))
        place = op("+", op("*", Ref(j), Const(4)), Ref(copy))
        both = store(target, (row, place), op("+", at(own, place), at(own, place)))
        read = loop(j, COLUMNS // 4, loop(copy, 4, both, LoopKind.UNROLLED))
        return loop(row, ROWS, Alloc(own, block(fill, read)))

    made = checked(doubled(P, X, 2), doubled(Q, Y, 3))
    assert calls(made) == {"": ["shared_p_0", "shared_p_0"], "shared_p_0": []}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda: nest(Q, Y, B, scale=3.0), id="a constant"),
        pytest.param(lambda: nest(Q, Y, Y), id="one buffer twice"),
        pytest.param(lambda: nest(Q, Y, B, stores=15), id="an extent"),
    ],
)
def test_nests_that_differ_in_more(other):
    assert calls(checked(nest(P, X, A), other())) == {"": []}


def test_nests_smaller_than_their_calls():
    assert calls(checked(nest(P, X, A, stores=1), nest(Q, Y, B, stores=1))) == {"": []}


def test_nests_that_may_end_the_stage():
    def with_check(target, source, other):
        i = Var("i")
        fact = Check(Label("fact"), op("<", at(source, i, 0), f32(100)), "too large")
        return loop(i, ROWS, block(fact, nest(target, source, other)))

    made = checked(with_check(P, X, A), with_check(Q, Y, B))
    assert calls(made) == {"": ["shared_p_0", "shared_p_0"], "shared_p_0": []}  # the loops behind the checks
    with pytest.raises(CompiledCheckFailed):
        run(made, **{name: np.full((ROWS, COLUMNS), 200, np.float32) for name in "xyab"})


def test_assembly_has_what_is_called():
    # with this function they are more than LLVM copies to where they are called
    nests = (nest(*buffers, function="tanh") for buffers in ((P, X, A), (Q, Y, B)))
    text = compile_program(program(block(*nests), X, Y, A, B, P, Q)).asm(StageKind.KERNEL)
    assert text.startswith("p_kernel_compute_:\n")
    (label,) = re.findall(r"^\S*shared_p_kernel_0(?=:$)", text, re.MULTILINE)
    assert len(re.findall(rf"(?:call\S*|jmp)\s+{re.escape(label)}$", text, re.MULTILINE)) == 2
