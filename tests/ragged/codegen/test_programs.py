"""What machine code does with each kind of node, against NumPy and the interpreter."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.codegen.entry import CompiledCheckFailed
from ragged.errors import Location, ScheduleError
from ragged.ir.build import add, sub
from ragged.ir.dtype import DType
from ragged.ir.expr import Buffer, Call, Cast, Const, Function, Param, Ref, Role, Select, Source, Var
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.program import StageKind
from ragged.ir.rewrite import substitute
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    If,
    Label,
    Let,
    LoopKind,
    block,
)
from ragged.runtime.call import Caller, bind
from tests.ragged.codegen.hand import (
    BOOL,
    F32,
    F64,
    I32,
    I64,
    at,
    buffer,
    call,
    check_both,
    f32,
    loop,
    op,
    output,
    program,
    reduce,
    run,
    size,
    store,
    table,
)

A = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)


def matrix_product(kind: LoopKind = LoopKind.SERIAL):
    """c[i, j] = sum_k a[i, k] * b[j, k]"""
    n, i, j, k = size("n"), Var("i"), Var("j"), Var("k")
    a, b, c = buffer("a", n, 7), buffer("b", 16, 7), output("c", n, 16)
    product = op("*", at(a, i, k), at(b, j, k))
    inner = block(store(c, (i, j), f32(0.0)), loop(k, 7, reduce(c, (i, j), product, k)))
    return program(loop(i, n, loop(j, 16, inner, kind)), n, a, b, c)


@pytest.mark.parametrize("kind", [LoopKind.SERIAL, LoopKind.PARALLEL, LoopKind.VECTORIZED, LoopKind.UNROLLED])
def test_a_sum_in_the_order_of_its_loop(kind):
    b = np.random.default_rng(1).standard_normal((16, 7)).astype(np.float32)
    out = check_both(matrix_product(kind), n=5, a=A, b=b)
    np.testing.assert_allclose(out["c"], A @ b.T, rtol=1e-5)


@pytest.mark.parametrize("combiner", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
def test_reductions(combiner, dtype):
    n, i, j = size("n"), Var("i"), Var("j")
    a, r = buffer("a", n, 7, dtype=dtype), output("r", n, dtype=dtype)
    start = 1 if combiner == "prod" else 0
    update = reduce(r, (i,), at(a, i, j), j, combiner=combiner)
    body = block(store(r, (i,), Const(float(start) if dtype.is_float else start, dtype)), loop(j, 7, update))
    data = np.random.default_rng(1).integers(-3, 4, (5, 7)).astype(dtype.numpy)
    out = check_both(program(loop(i, n, body), n, a, r), n=5, a=data)["r"]
    np.testing.assert_array_equal(out, getattr(np, combiner)(data, axis=1, initial=start))


@pytest.mark.parametrize("kind", [LoopKind.SERIAL, LoopKind.VECTORIZED])
def test_a_loop_that_carries_a_value_is_not_made_vectors(kind):
    i = Var("i")
    x, s = buffer("x", 16), output("s", 16)
    before = Select(op(">", Ref(i), Const(0)), at(s, sub(Ref(i), 1)), f32(0.0))
    check_both(
        program(loop(i, 16, store(s, (i,), op("+", before, at(x, i))), kind), x, s), x=np.ones(16, np.float32)
    )
    one = output("one", 1)
    total = block(store(one, (0,), f32(0.0)), loop(i, 16, reduce(one, (0,), at(x, i), i), kind))
    assert check_both(program(total, x, one), x=np.arange(16, dtype=np.float32))["one"] == 120


def test_ragged_rows_and_a_table():
    rows, i, j, word = size("rows"), Var("i"), Var("j"), table("word", size("rows"))
    rows = word.params[0].extent.function
    offset = table("offset", add(Call(rows), 1), storage=I64)
    x, emb, out = (
        buffer("x", at(offset, rows), role=Role.PAYLOAD),
        buffer("emb", 3, 4),
        output("out", rows, 4),
    )
    length = sub(at(offset, add(Ref(i), 1)), at(offset, i))
    value = op("+", at(emb, at(word, i), 1), at(x, add(at(offset, i), j)))
    body = block(
        loop(j, 4, store(out, (i, j), f32(0.0))), loop(j2 := Var("j"), length, _at(out, i, j2, value, j))
    )
    offsets, words = np.array([0, 2, 2, 6]), np.array([2, 0, 1], np.int32)
    values = {
        "x": np.arange(6, dtype=np.float32),
        "emb": np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32),
    }
    check_both(
        program(loop(i, rows, body), rows, word, offset, x, emb, out),
        rows=3,
        word=words,
        offset=offsets,
        **values,
    )


def _at(out, i, j, value, old):
    return store(out, (i, j), substitute(value, {old: Ref(j)}))


def test_functions_that_are_expressions_are_expanded():
    n, i = size("n"), Var("i")
    begin = table("begin", add(Call(n), 1))
    v, w = Var("v"), Var("w")
    length = Function(
        "length", (Param(v, Call(n)),), Source.EXPRESSION, sub(at(begin, add(Ref(v), 1)), at(begin, v))
    )
    double = Function("double", (Param(w, Const(100)),), Source.EXPRESSION, add(Ref(w), w))
    out = output("out", n, dtype=I64)
    body = store(out, (i,), at(double, at(double, at(length, i))))
    got = check_both(
        program(loop(i, n, body), n, begin, length, double, out), n=3, begin=np.array([0, 2, 2, 5], np.int32)
    )
    assert got["out"].tolist() == [8, 0, 12]


def test_only_the_taken_branch_is_evaluated():
    n, i = size("n"), Var("i")
    word, emb, out = table("word", Call(n)), buffer("emb", 2), output("out", n)
    known = op(">=", at(word, i), Const(0))
    picked = Select(known, at(emb, at(word, i)), f32(-1.0))
    far = op("and", known, op(">", at(emb, op("*", at(word, i), Const(1))), f32(0.0)))
    near = op(
        "or", op("<", at(word, i), Const(0)), op("==", op("//", Const(4), add(at(word, i), 1)), Const(4))
    )
    value = op("+", op("+", picked, Cast(F32, far)), Cast(F32, near))
    words = np.array([-(2**30), 0, 1, -1, -(2**31)], np.int32)
    for kind in (LoopKind.SERIAL, LoopKind.VECTORIZED):
        what = program(loop(i, Const(5), store(out, (i,), value), kind), n, word, emb, out)
        got = check_both(what, n=5, word=words, emb=np.array([2.0, -3.0], np.float32))
        assert got["out"].tolist() == [0.0, 4.0, -3.0, 0.0, 0.0]


@pytest.mark.parametrize("old", [BOOL, I32, I64, DType.BFLOAT16, F32, F64])
@pytest.mark.parametrize("new", [BOOL, I32, I64, DType.BFLOAT16, F32, F64])
@pytest.mark.parametrize("kind", [LoopKind.SERIAL, LoopKind.VECTORIZED])
def test_conversions(old, new, kind):
    i = Var("i")
    x, out = buffer("x", 8, dtype=old), output("out", 8, dtype=new)
    values = np.array([0, 1, -1, 2.75, -2.75, 100, -100, 1.2861328125]).astype(old.numpy)
    check_both(program(loop(i, 8, store(out, (i,), Cast(new, at(x, i))), kind), x, out), x=values)


def test_storage_in_another_order():
    n, i, j, k = size("n"), Var("i"), Var("j"), Var("k")
    x = buffer("x", n, 3, 4, order=(2, 0, 1))
    out = output("out", n, 3, 4, order=(1, 2, 0))
    what = program(loop(i, n, loop(j, 3, loop(k, 4, store(out, (i, j, k), at(x, i, j, k))))), n, x, out)
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    got = run(what, n=2, x=np.ascontiguousarray(values.transpose(2, 0, 1)))["out"]
    np.testing.assert_array_equal(got, values)
    assert got.transpose(1, 2, 0).flags.c_contiguous


@pytest.mark.parametrize("scope", MemoryScope)
def test_local_buffers_and_lets(scope):
    n, i, j, k = size("n"), Var("i"), Var("j"), Var("k")
    a, out = buffer("a", n, 7), output("out", n)
    acc = Buffer("acc", F32, (Const(7),), Role.LOCAL, scope=scope)
    last = Var("last", F32)
    body = Alloc(
        acc,
        block(
            loop(j, 7, store(acc, (j,), call("tanh", at(a, i, j))), LoopKind.VECTORIZED),
            store(out, (i,), f32(0.0)),
            loop(k, 7, reduce(out, (i,), at(acc, k), k)),
            Let(last, at(acc, 6), store(out, (i,), op("-", at(out, i), Ref(last)))),
        ),
    )
    got = run(program(loop(i, n, body), n, a, out), n=5, a=A)["out"]
    np.testing.assert_allclose(got, np.tanh(A[:, :6]).sum(1), rtol=1e-5)


def test_an_alias_has_the_memory_of_what_it_aliases():
    i, j = Var("i"), Var("j")
    x, out = buffer("x", 4), output("out", 4)
    view = Buffer("view", F32, (Const(2), Const(2)), Role.OUTPUT, aliases=out)
    body = block(
        loop(i, 4, store(out, (i,), at(x, i)), LoopKind.VECTORIZED),
        loop(
            j, 2, store(view, (1, j), op("+", at(view, 0, j), at(out, add(Ref(j), 2)))), LoopKind.VECTORIZED
        ),
    )
    got = run(program(body, x, out, view), x=np.array([1, 2, 3, 4], np.float32))
    assert got["out"].tolist() == [1, 2, 4, 6]
    assert set(got) == {"out"}


def test_empty_extents():
    b = np.zeros((16, 7), np.float32)
    assert run(matrix_product(LoopKind.VECTORIZED), n=0, a=np.empty((0, 7), np.float32), b=b)["c"].shape == (
        0,
        16,
    )
    out = output("out", 1)
    nothing = program(
        block(store(out, (0,), f32(1.0)), loop(Var("i"), 0, Block(), LoopKind.UNROLLED), Block()), out
    )
    assert run(nothing)["out"].tolist() == [1.0]


# --- checks ------------------------------------------------------------------------------------------------


def checked():
    n, i = size("n"), Var("i")
    word, x, out = table("word", Call(n)), buffer("x", n), output("out", n)
    low = Check(
        Label("low"), op(">=", at(word, i), Const(0)), "row {0}: word {1} is negative", (Ref(i), at(word, i))
    )
    high = Check(
        Label("high"),
        op("<", at(x, i), f32(4.0)),
        "row {0}: {1} is too much ({2})",
        (Ref(i), at(x, i), op("<", Ref(i), Const(2))),
        Location("model.py", 7),
    )
    inner = block(low, If(op(">", Ref(i), Const(0)), block(high)), store(out, (i,), at(x, i)))
    return program(loop(Var("twice"), 2, loop(i, n, inner)), n, word, x, out)


def test_a_check_that_fails_ends_the_stage_and_says_why():
    compiled = compile_program(checked())
    words, x = np.array([0, 1, 2], np.int32), np.array([9.0, 2.0, 3.0], np.float32)
    assert run(compiled, n=3, word=words, x=x)["out"].tolist() == [9.0, 2.0, 3.0]
    with pytest.raises(CompiledCheckFailed) as negative:
        run(compiled, n=3, word=np.array([0, 1, -5], np.int32), x=x)
    assert str(negative.value) == "row 2: word -5 is negative"
    assert (negative.value.site.label, negative.value.index, negative.value.witness) == ("low", 0, (2, -5))
    with pytest.raises(CompiledCheckFailed) as excess:
        run(compiled, n=3, word=words, x=np.array([9.0, 4.5, 3.0], np.float32))
    assert str(excess.value) == "row 1: 4.5 is too much (1)\n  at model.py:7"
    assert run(compiled, n=3, word=words, x=x)["out"].tolist() == [9.0, 2.0, 3.0]


def test_what_was_stored_before_a_check_failed_stays_and_nothing_follows():
    out = np.full(3, -1.0, np.float32)
    values = {"n": 3, "word": np.array([0, -1, 2], np.int32), "x": np.ones(3, np.float32), "out": out}
    with pytest.raises(CompiledCheckFailed):
        compile_program(checked()).call(StageKind.KERNEL, values)
    assert out.tolist() == [1.0, -1.0, -1.0]


# --- stages and teams --------------------------------------------------------------------------------------


def test_the_stages_of_a_program():
    n, i, j = size("n"), Var("i"), Var("j")
    w, x = buffer("w", 3, 4), buffer("x", n, role=Role.PAYLOAD)
    packed = buffer("packed", 4, 3, role=Role.BOUND)
    scratch, out = buffer("scratch", n, role=Role.WORKSPACE), output("out", n)
    what = program(
        loop(i, n, store(out, (i,), op("+", at(scratch, i), at(packed, 3, 2)))),
        *(n, w, x, packed, scratch, out),
        bind=loop(i, 3, loop(j, 4, store(packed, (j, i), at(w, i, j)))),
        prelude=loop(i, n, store(scratch, (i,), op("*", at(x, i), f32(2.0)))),
    )
    compiled = compile_program(what)
    weights = np.arange(12, dtype=np.float32).reshape(3, 4)
    bound = bind(compiled.entries, {"w": weights})
    np.testing.assert_array_equal(bound["packed"], weights.T)
    caller = Caller([compiled.entry(StageKind.PRELUDE), compiled.entry(StageKind.KERNEL)], bound)
    assert [argument.name for argument in caller.wanted] == ["n", "x"]
    assert caller({"n": 2, "x": np.array([1, 2], np.float32)})["out"].tolist() == [13.0, 15.0]
    assert set(caller.timed({"n": 2, "x": np.zeros(2, np.float32)})) == {StageKind.PRELUDE, StageKind.KERNEL}


def test_a_team_of_one_worker():
    workers, n, i, w = size("workers"), size("n"), Var("i"), Var("w")
    out, share = output("out", n), buffer("share", n, role=Role.WORKSPACE)
    mine = loop(i, Call(n), store(share, (i,), Cast(F32, op("+", op("*", Ref(i), Call(workers)), Ref(w)))))
    team = loop(w, workers, block(mine, Barrier(Label("all"))), LoopKind.TEAM)
    alone = loop(i, Call(n), store(out, (i,), at(share, i)))
    what = program(block(team, alone), workers, n, share, out)
    compiled = compile_program(what)
    assert [argument.name for argument in compiled.signature] == ["n", "share", "out"]
    assert run(compiled, n=4)["out"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert "worker == T.int64(0)" in compiled.tir(StageKind.KERNEL)


def test_a_team_is_of_one_size():
    w, out = Var("w"), output("out", 3)
    with pytest.raises(ScheduleError, match="a team loop's extent is not its number of workers"):
        compile_program(program(loop(w, 3, store(out, (w,), f32(0.0)), LoopKind.TEAM), out))


# --- memory of its own -------------------------------------------------------------------------------------


def with_local(shape, *symbols):
    big, out = Buffer("big", F32, shape, Role.LOCAL), output("out", 1)
    return program(Alloc(big, block(store(big, (0,), f32(1.0)), store(out, (0,), at(big, 0)))), *symbols, out)


def test_local_buffers_that_do_not_fit_are_refused():
    with pytest.raises(ScheduleError) as large:
        compile_program(with_local((Const(100_000),)))
    assert str(large.value) == (
        "local buffer 'big' of 400000 bytes does not fit on the stack\n"
        "  because: a stage may hold 262144 bytes of local buffers\n"
        "  fix: a workspace that the program declares"
    )
    n = size("n")
    with pytest.raises(ScheduleError, match="local buffer 'big' has no constant size"):
        compile_program(with_local((Call(n),), n))


@pytest.mark.parametrize("elements", [8, 300, 16_384])
def test_local_buffers_are_on_the_stack(elements):
    n, i, j, k = size("n"), Var("i"), Var("j"), Var("k")
    x, out = buffer("x", n, elements), output("out", n)
    tmp = Buffer("tmp", F32, (Const(elements),), Role.LOCAL)
    fill = loop(j, elements, store(tmp, (j,), at(x, i, op("-", Const(elements - 1), Ref(j)))))
    body = Alloc(
        tmp, block(fill, store(out, (i,), f32(0.0)), loop(k, elements, reduce(out, (i,), at(tmp, k), k)))
    )
    compiled = compile_program(program(loop(i, n, body), n, x, out))
    assert "Workspace" not in compiled.asm(StageKind.KERNEL)
    aligned = re.findall(r"%tmp\S* = alloca .*align (\d+)", compiled.module.inspect_source("ll"))
    assert set(aligned) <= {"64"} and (aligned or elements < 100)
    assert not any("Workspace" in name for name in compiled.undefined_symbols())
    values = np.random.default_rng(1).standard_normal((3, elements)).astype(np.float32)
    np.testing.assert_allclose(run(compiled, n=3, x=values)["out"], values.sum(1), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("elements", [1, 3, 64, 131])
@pytest.mark.parametrize("dtype", [dtype for dtype in DType if dtype is not DType.BFLOAT16X2])
def test_local_buffers_of_all_dtypes_have_room(dtype, elements):
    """Two of them, one right after the other on the stack, are filled together and then read."""
    n, i, j, k = size("n"), Var("i"), Var("j"), Var("k")
    x = buffer("x", n, elements, dtype=dtype)
    there, back = (output(name, n, elements, dtype=dtype) for name in ("there", "back"))
    first, second = (Buffer(name, dtype, (Const(elements),), Role.LOCAL) for name in ("first", "second"))
    turned = op("-", Const(elements - 1), Ref(j))
    fill = loop(j, elements, block(store(first, (j,), at(x, i, j)), store(second, (j,), at(x, i, turned))))
    show = loop(k, elements, block(store(there, (i, k), at(first, k)), store(back, (i, k), at(second, k))))
    body = Alloc(first, Alloc(second, block(fill, show)))
    compiled = compile_program(program(loop(i, n, body), n, x, there, back))
    values = np.random.default_rng(1).integers(0, 2, (3, elements)).astype(dtype.numpy)
    got = run(compiled, n=3, x=values)
    np.testing.assert_array_equal(got["there"], values)
    np.testing.assert_array_equal(got["back"], values[:, ::-1])


@pytest.mark.parametrize("dtype", list(DType))
def test_names_that_are_no_identifiers(dtype):
    x, out = buffer("x.y", 2, dtype=dtype), output("in", 2, dtype=dtype)
    i = Var("1st")
    what = program(
        loop(i, 2, Let(v := Var("a b", dtype), at(x, i), store(out, (i,), Ref(v)))), x, out, name="a-b"
    )
    compiled = compile_program(what)
    assert "def a_b_kernel(x_y" in compiled.tir(StageKind.KERNEL)
    assert run(compiled, **{"x.y": np.array([0, 1], dtype.numpy)})["in"].tolist() == [0, 1]
