"""Which loops may become vectors."""

from __future__ import annotations

import pytest

from ragged.codegen.vector import can_vectorize
from ragged.ir.build import add
from ragged.ir.expr import Buffer, Call, Cast, Const, Function, Param, Ref, Role, Select, Source, Var
from ragged.ir.stmt import Alloc, If, Let, LoopKind, block
from tests.ragged.codegen.hand import F32, at, buffer, f32, loop, op, output, reduce, size, store, table

i, j, n, k = Var("i"), Var("j"), Var("n"), Var("k")
x, y, out, wide = buffer("x", 64), buffer("y", 64), output("out", 64), output("wide", 8, 64)
word, count = table("word", 64), size("count")
view = Buffer("view", F32, (Const(64),), Role.OUTPUT, aliases=out)
local = Buffer("local", F32, (Const(4),), Role.LOCAL)
v = Var("v")
guarded = Function(
    "guarded",
    (Param(v, Const(64)),),
    Source.EXPRESSION,
    Select(op("<", Ref(v), Const(3)), at(word, v), Ref(v)),
)

GOOD = {
    "elementwise": store(out, (i,), op("+", at(x, i), at(y, op("*", Ref(i), Const(3))))),
    "shifted by what stays": store(out, (op("+", at(word, n), Ref(i)),), at(x, i)),
    "a row of its own": block(
        store(wide, (n, i), f32(0.0)), store(wide, (n, i), op("+", at(wide, n, i), at(x, i)))
    ),
    "a let": Let(k, add(Ref(i), 8), store(out, (k,), op("*", at(out, add(Ref(i), 8)), f32(2.0)))),
    "a reduction inside": loop(j, 4, reduce(out, (i,), at(x, j), j)),
    "a gather": store(out, (i,), at(x, at(word, i))),
    "one way for all": If(
        op("<", Ref(n), Const(3)), store(out, (i,), Select(op("<", Ref(n), Const(2)), at(x, i), f32(0)))
    ),
    "a choice that cannot fault": store(
        out, (i,), Select(op("<", Ref(i), Const(3)), f32(1.0), Cast(F32, Ref(i)))
    ),
    "two columns of inner rows": loop(j, 4, store(wide, (j, i), at(x, i))),
}
BAD = {
    "a reduction": reduce(out, (n,), at(x, i), i),
    "a neighbour": store(out, (i,), at(out, add(Ref(i), 1))),
    "an element for two": store(out, (op("//", Ref(i), Const(2)),), at(x, i)),
    "scattered": store(out, (at(word, i),), at(x, i)),
    "shifted by an inner loop": loop(j, 4, store(out, (op("+", Ref(i), Ref(j)),), f32(0.0))),
    "shifted by what is stored": store(
        wide, (n, op("+", Ref(i), Cast(Var("x").dtype, at(wide, 0, 0)))), f32(0.0)
    ),
    "through an alias": block(store(out, (i,), f32(0.0)), store(view, (i,), f32(0.0))),
    "a let of a neighbour": Let(k, add(Ref(i), 1), store(out, (k,), at(out, i))),
    "a condition": If(op("<", Ref(i), Const(3)), store(out, (i,), f32(0.0))),
    "a condition in a let": Let(k, add(Ref(i), 1), If(op("<", Ref(k), Const(3)), store(out, (i,), f32(0.0)))),
    "a ragged loop inside": loop(j, at(word, i), store(wide, (j, i), f32(0.0))),
    "a lazy choice": store(out, (i,), Select(op("<", Ref(i), Const(3)), at(x, i), f32(0.0))),
    "a lazy choice in a function": store(out, (i,), Cast(F32, Call(guarded, (Ref(i),)))),
    "a local buffer": Alloc(local, store(out, (i,), f32(0.0))),
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_loops_that_may(body):
    assert can_vectorize(loop(i, 8, body, LoopKind.VECTORIZED))


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_loops_that_may_not(body):
    assert not can_vectorize(loop(i, 8, body, LoopKind.VECTORIZED))


def test_the_extent_has_to_be_known():
    body = GOOD["elementwise"]
    assert not can_vectorize(loop(i, count, body, LoopKind.VECTORIZED))
    assert not can_vectorize(loop(i, 1, body, LoopKind.VECTORIZED))
