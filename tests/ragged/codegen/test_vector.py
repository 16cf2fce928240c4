"""Which loops may become vectors."""

from __future__ import annotations

import pytest

from ragged.codegen.exprs import Expressions
from ragged.codegen.load_tvm import tirx, tvm
from ragged.codegen.vector import can_vectorize
from ragged.codegen.vector_rows import row_stores, stores_rows
from ragged.ir.build import add
from ragged.ir.elementwise import FUNCTIONS
from ragged.ir.expr import (
    Buffer,
    Call,
    Cast,
    Const,
    Fma,
    Function,
    Param,
    Ref,
    Role,
    Select,
    Source,
    Unary,
    Var,
)
from ragged.ir.ops import UnaryOp
from ragged.ir.stmt import Alloc, If, Let, LoopKind, block
from tests.ragged.codegen.hand import F32, at, buffer, f32, loop, op, output, reduce, size, store, table

i, j, n, k = Var("i"), Var("j"), Var("n"), Var("k")
x, y, out, wide = buffer("x", 64), buffer("y", 64), output("out", 64), output("wide", 8, 64)
square, column = buffer("square", 64, 64), buffer("column", 64, 64, order=(1, 0))
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


ROWS = {
    "zero": store(out, (i,), f32(0.0)),
    "a copy to a shifted row": store(wide, (n, add(Ref(i), 8)), at(x, i)),
    "multiply and add": store(wide, (n, i), Fma(at(x, n), at(y, add(Ref(i), n)), at(wide, n, i))),
    "one element for all": store(out, (i,), at(x, at(word, n))),
    "a sum": store(out, (i,), op("+", at(x, i), op("-", at(y, n), at(y, i)))),
    "a product": store(out, (i,), op("*", at(x, i), op("/", at(y, i), f32(3.0)))),
    "the larger one": store(out, (i,), op("max", at(x, i), op("min", at(y, i), f32(3.0)))),
    "a negative": store(out, (i,), Unary(UnaryOp.NEG, at(x, i))),
    "a function": store(out, (i,), Unary(FUNCTIONS["tanh"], at(x, i))),
}
NO_ROWS = {
    "a strided read": store(out, (i,), at(x, op("*", Ref(i), Const(3)))),
    "a backward read": store(out, (i,), at(x, op("-", Const(7), Ref(i)))),
    "a gather": store(out, (i,), at(x, at(word, i))),
    "a column": store(column, (n, i), f32(0.0)),
    "a diagonal": store(wide, (n, i), at(square, i, i)),
    "another operator": store(out, (i,), Unary(UnaryOp.ABS, at(x, i))),
    "a row and a strided one": store(out, (i,), op("+", at(x, i), at(x, op("*", Ref(i), Const(3))))),
    "another type": store(out, (i,), Cast(F32, at(word, i))),
    "a reduction": reduce(out, (i,), at(x, n), n),
    "a let": Let(k, add(Ref(i), 8), store(out, (k,), f32(0.0))),
}


@pytest.mark.parametrize("body", ROWS.values(), ids=ROWS)
def test_rows_are_the_vectors_that_tvm_makes_of_their_loops(body):
    vectors = loop(i, 8, body, LoopKind.VECTORIZED)
    assert stores_rows(vectors)
    expressions = Expressions({n: tirx.Var("n", "int64")})
    for each in (x, y, out, wide, word):
        shape, dtype = (512,), "int32" if each is word else "float32"
        expressions.storage[each] = tirx.decl_buffer(shape, dtype, each.name)
    (mine,) = row_stores(vectors, expressions)
    expressions.variables[i] = lane = tirx.Var("i", "int64")
    store_one = tirx.BufferStore(
        expressions.storage[body.buffer],
        expressions.emit(body.value),
        [expressions.offset(body.buffer, body.indices)],
    )
    zero, extent = tirx.IntImm("int64", 0), tirx.IntImm("int64", 8)
    whole = tirx.For(lane, zero, extent, tirx.ForKind.VECTORIZED, store_one)
    module = tvm.IRModule({"f": tirx.PrimFunc([], whole)})
    host = tirx.transform.BindTarget(tvm.target.Target({"kind": "llvm"}))
    theirs = tirx.transform.VectorizeLoop()(host(module))["f"].body
    tvm.ir.assert_structural_equal(mine, theirs, map_free_vars=True)


@pytest.mark.parametrize("body", NO_ROWS.values(), ids=NO_ROWS)
def test_what_is_no_row(body):
    assert not stores_rows(loop(i, 8, body, LoopKind.VECTORIZED))


FIRST = Select(op("<", add(Ref(i), n), Const(20)), at(x, add(Ref(i), n)), f32(0.0))


def test_the_first_elements_of_a_row_are_a_masked_load():
    body = store(wide, (n, i), Fma(FIRST, at(y, n), at(wide, n, i)))
    assert stores_rows(loop(i, 8, body, LoopKind.VECTORIZED))
    assert not stores_rows(loop(i, 3, body, LoopKind.VECTORIZED))  # no vector has so many lanes
    expressions = Expressions({n: tirx.Var("n", "int64")})
    for each in (x, y, wide):
        expressions.storage[each] = tirx.decl_buffer((512,), "float32", each.name)
    (stored,) = row_stores(loop(i, 8, body, LoopKind.VECTORIZED), expressions)
    text = str(stored)
    assert "masked_load" in text and "if_then_else" not in text


@pytest.mark.parametrize(
    "value",
    [
        Select(op("<", Ref(i), Ref(i)), at(x, i), f32(0.0)),
        Select(op("<", Ref(n), Const(20)), at(x, i), f32(0.0)),
        Select(op("<", Ref(i), Const(20)), at(x, op("*", Ref(i), Const(2))), f32(0.0)),
        Select(op("<", Ref(i), Const(20)), at(x, i), at(y, i)),
        Select(op("<", Ref(i), at(word, n)), at(x, i), f32(0.0)),
        Select(op("<", op("*", Ref(i), Const(2)), Const(20)), at(x, i), f32(0.0)),
        Select(op("==", Ref(i), Const(2)), at(x, i), f32(0.0)),
        Select(op("<", Ref(i), Const(4)), op("+", at(x, i), FIRST), at(x, i)),
        Select(op("<", Ref(i), Const(4)), op("+", at(x, i), at(y, at(word, n))), at(x, i)),
        Select(
            op("and", op("<", Ref(i), Const(4)), op("<", Ref(n), Const(9))),
            at(wide, at(word, n), i),
            f32(0.0),
        ),
    ],
    ids=[
        "an end that moves",
        "one condition for all",
        "a strided read",
        "a read of the other lanes",
        "a condition that reads",
        "every other lane",
        "one lane",
        "a choice in a choice",
        "an index that is read for some lanes",
        "an index that is read where a condition holds",
    ],
)
def test_other_choices_are_of_no_rows(value):
    assert not stores_rows(loop(i, 8, store(out, (i,), value), LoopKind.VECTORIZED))


def test_single_elements_of_a_choice_are_read_only_if_a_lane_is_chosen():
    product = op("*", at(y, n), at(y, add(Ref(n), 1)))
    value = Select(op("<", Ref(i), Ref(n)), op("+", at(x, i), product), f32(0.0))
    expressions = Expressions({n: tirx.Var("n", "int64")})
    for each in (x, y, out):
        expressions.storage[each] = tirx.decl_buffer((512,), "float32", each.name)
    (stored,) = row_stores(loop(i, 8, store(out, (i,), value), LoopKind.VECTORIZED), expressions)
    text = str(stored)
    assert text.count("y[") == text.count("T.if_then_else(") == 2 and "masked_load" in text
