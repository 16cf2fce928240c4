"""Indices are computed once where statements that run together share them, and only where each would be computed."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.codegen.build import generate
from ragged.ir.expr import Const, Ref, Select, Var
from ragged.ir.program import StageKind
from ragged.ir.stmt import If, LoopKind, block
from tests.ragged.codegen.hand import at, buffer, f32, loop, op, output, program, run, size, store, table

i, j = Var("i"), Var("j")


def tir(*parts):
    return generate(program(*parts)).tir(StageKind.KERNEL)


def test_unrolled_copies_share_what_is_the_same_in_all():
    n, x, out = size("n"), buffer("x", 64, 8), output("out", 64, 8)
    row = op("//", Ref(i), at(n))
    body = loop(j, 4, store(out, (row, j), at(x, row, j)), LoopKind.UNROLLED)
    text = tir(loop(i, 8, body), n, x, out)
    assert text.count("//") == text.count("* T.int64(8)") == 1
    assert text.count("out_1[") == 4


def test_copies_share_what_a_size_that_is_not_constant_multiplies():
    n = size("n")
    x, out = buffer("x", 64, n), output("out", 64)
    body = loop(j, 4, store(out, (j,), at(x, op("//", Ref(i), at(n)), j)), LoopKind.UNROLLED)
    assert tir(loop(i, 8, body), n, x, out).count("//") == 1


@pytest.mark.parametrize("guarded", ["by a branch", "by a choice"])
def test_a_guarded_index_is_not_computed_before_its_guard(guarded):
    n, word, out = size("n"), table("word", 4), output("out", 8)
    element = at(word, op("*", op("+", Ref(i), Const(1)), Const(1 << 40)))
    assigned = store(out, (i,), f32(1.0))
    if guarded == "by a branch":
        body = If(op("<", Ref(i), Const(0)), store(out, (element,), f32(2.0)))
    else:
        chosen = Select(op("<", Ref(i), Const(0)), element, Ref(i))
        body = store(out, (chosen,), f32(1.0))
    copies = loop(j, 2, block(assigned, body), LoopKind.UNROLLED)
    what = program(loop(i, 8, copies), n, word, out)
    given = {"n": 1, "word": np.zeros(4, np.int32)}
    assert (
        run(what, **given)["out"].tolist() == [1.0] * 8
    )  # or the process ends: it would read outside of the array


def test_reads_of_a_choice_are_not_shared_with_what_follows():
    n, word, out = size("n"), table("word", 8), output("out", 8)
    element = at(word, i)
    guarded = Select(op("<", Ref(i), at(n)), element, Const(0))
    body = loop(
        j, 1, block(store(out, (guarded,), f32(1.0)), store(out, (element,), f32(2.0))), LoopKind.UNROLLED
    )
    assert tir(loop(i, 8, body), n, word, out).count("word_1[i]") == 2
    twice = block(store(out, (element,), f32(1.0)), store(out, (element,), f32(2.0)))
    unguarded = loop(j, 1, twice, LoopKind.UNROLLED)
    assert tir(loop(i, 8, unguarded), n, word, out).count("word_1[i]") == 1
