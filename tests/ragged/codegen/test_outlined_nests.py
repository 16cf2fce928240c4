"""Equal loop nests become one function, and compute what each of them says."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.codegen.entry import CompiledCheckFailed
from ragged.codegen.outlined_nests import outline_equal_nests
from ragged.codegen.tir import stage_function
from ragged.ir.dtype import DType
from ragged.ir.expr import Buffer, Call, Const, Ref, Role, Var
from ragged.ir.interpret import interpret
from ragged.ir.program import Program, StageKind
from ragged.ir.stmt import Alloc, Check, Label, LoopKind, block
from tests.ragged.codegen.hand import at, buffer, call, f32, loop, op, output, program, run, size, store

ROWS, COLUMNS = 3, 16
X, Y, A, B = (buffer(name, ROWS, COLUMNS) for name in "xyab")
P, Q, U, V = (output(name, ROWS, COLUMNS) for name in "pquv")


def nest(target, source, other, *, scale: float = 2.0, stores: int = 16, function: str = "abs"):
    """Return unrolled rows: `target = function(source) * scale + other` in so many columns."""
    i, copy = Var("i"), Var("copy")
    value = op("+", op("*", call(function, at(source, i, copy)), f32(scale)), at(other, i, copy))
    body = loop(copy, stores, store(target, (i, copy), value), LoopKind.UNROLLED)
    return loop(i, ROWS, body)


CHOSEN = size("chosen")


def checked(*nests) -> Program:
    """Return a program of nests, one after another, and check that its code stores what the interpreter does."""
    made = program(block(*nests), CHOSEN, X, Y, A, B, P, Q, U, V)
    rng = np.random.default_rng(0)
    arrays = {name: rng.standard_normal((ROWS, COLUMNS)).astype(np.float32) for name in "xyab"}
    got, expected = run(made, chosen=0, **arrays), interpret(made, {"chosen": 0}, arrays)
    for name in "pq":
        written = ~np.isnan(expected[name])
        assert written.any()
        np.testing.assert_array_equal(got[name][written], expected[name][written])
    return made


def calls(made: Program) -> dict[str, list[str]]:
    """Return the outlined functions that each function calls; the kernel's name is ''."""
    function, outlined = outline_equal_nests(stage_function(made, made.stages[0]).function, "p")
    texts = {"": function.script()} | {callee.name_hint: each.script() for callee, each in outlined.items()}
    return {name: re.findall(r"outlined_p_\d+(?=\()", text) for name, text in texts.items()}


def test_nests_that_differ_in_their_buffers_alone():
    made = checked(nest(P, X, A), nest(Q, Y, B))
    assert calls(made) == {"": ["outlined_p_0", "outlined_p_0"], "outlined_p_0": []}


def test_nests_in_outlined_nests_are_outlined_too():
    i, j, k = Var("i"), Var("j"), Var("k")
    twice = (loop(i, 2, nest(P, X, A)), loop(j, 2, nest(P, Y, B)))
    made = checked(*twice, nest(Q, Y, B), loop(k, 3, nest(Q, Y, A)))
    assert calls(made) == {
        "": ["outlined_p_0", "outlined_p_0", "outlined_p_1", "outlined_p_1"],
        "outlined_p_0": ["outlined_p_1"],
        "outlined_p_1": [],
    }


def test_variables_of_loops_around_are_arguments():
    i, j = Var("i"), Var("j")

    def row(target, source, outer):
        copy, once = Var("copy"), Var("once")
        value = call("abs", at(source, outer, copy))
        return loop(once, 1, loop(copy, 16, store(target, (outer, copy), value), LoopKind.UNROLLED))

    made = checked(loop(i, ROWS, row(P, X, i)), loop(j, ROWS - 1, row(Q, Y, j)))
    assert calls(made) == {"": ["outlined_p_0", "outlined_p_0"], "outlined_p_0": []}


def scaled(target, source, scale, row, of=None):
    """Store `source * scale` in a row of `target`, by default of the same row."""
    i, copy = Var("i"), Var("copy")
    read = at(source, row if of is None else of, copy)
    body = store(target, (row, copy), op("*", read, f32(scale)))
    return loop(i, 1, loop(copy, COLUMNS, body, LoopKind.UNROLLED))


def test_what_is_stored_between_calls_is_read_in_them():
    """Also where LLVM copies the function to its callers, which know the buffers under other names."""
    row = Var("row")
    steps = (
        *(scaled(U, X, 2, row), scaled(P, U, 7, row, of=CHOSEN)),
        *(scaled(V, Y, 3, row), scaled(Q, V, 7, row, of=CHOSEN)),
        *(scaled(V, A, 5, row), scaled(P, V, 7, row, of=CHOSEN)),
    )
    made = checked(loop(row, ROWS, block(*steps)))
    assert calls(made)[""].count("outlined_p_0") == 3


def test_local_buffers_stay_in_registers():
    """What uses one from around it is no function: it would have to have an address."""

    def doubled(target, source, scale):
        own = Buffer(f"own{target.name}", DType.FLOAT32, (Const(ROWS), Const(COLUMNS)), Role.LOCAL)
        row, again = Var("row"), Var("again")
        fill, read = (
            loop(row, ROWS, scaled(own, source, scale, row)),
            loop(again, ROWS, scaled(target, own, 7, again)),
        )
        return loop(Var("once"), 1, Alloc(own, block(fill, read)))

    assert calls(checked(doubled(P, X, 2), doubled(Q, Y, 3))) == {"": []}
    whole = calls(checked(doubled(P, X, 2), doubled(Q, Y, 2)))
    assert whole == {"": ["outlined_p_0", "outlined_p_0"], "outlined_p_0": []}


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
    assert calls(made) == {
        "": ["outlined_p_0", "outlined_p_0"],
        "outlined_p_0": [],
    }  # the loops behind the checks
    with pytest.raises(CompiledCheckFailed):
        run(made, chosen=0, **{name: np.full((ROWS, COLUMNS), 200, np.float32) for name in "xyab"})


@pytest.mark.parametrize("extent", [8, 5], ids=["whole", "masked"])
def test_vectors(extent):
    """Nests of vector statements, of which some lanes may be masked."""
    lanes, last = Var("lanes"), Var("last")

    def vectors(target, source, other):
        row, copy = Var("row"), Var("copy")
        place = op("+", op("*", Ref(copy), Const(4)), Ref(lanes))
        body = store(target, (row, place), op("*", at(source, row, place), at(other, row, place)))
        inner = loop(copy, COLUMNS // 4, loop(lanes, 4, body, LoopKind.VECTORIZED), LoopKind.UNROLLED)
        some = loop(
            last,
            op("min", op("+", Call(CHOSEN), Const(extent)), Const(8)),
            store(target, (row, last), at(other, row, last)),
            LoopKind.VECTORIZED,
        )
        return loop(row, ROWS, block(inner, some))

    made = checked(vectors(P, X, A), vectors(Q, Y, B))
    assert calls(made) == {"": ["outlined_p_0", "outlined_p_0"], "outlined_p_0": []}


def test_assembly_has_what_is_called():
    # with this function they are more than LLVM copies to where they are called
    nests = (nest(*buffers, function="tanh") for buffers in ((P, X, A), (Q, Y, B)))
    text = compile_program(program(block(*nests), X, Y, A, B, P, Q, U, V)).asm(StageKind.KERNEL)
    assert text.startswith("p_kernel_compute_:\n")
    (label,) = re.findall(r"^\S*outlined_p_kernel_0(?=:$)", text, re.MULTILINE)
    assert len(re.findall(rf"(?:call\S*|jmp)\s+{re.escape(label)}$", text, re.MULTILINE)) == 2
