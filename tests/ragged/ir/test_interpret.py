"""What programs mean, and the faults that interpreting finds in them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragged.errors import DataError, InternalError
from ragged.ir.build import add, index, sub, within
from ragged.ir.dtype import INDEX, DType
from ragged.ir.elementwise import FUNCTIONS, Elementwise
from ragged.ir.expr import (
    Binary,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    Fma,
    Function,
    Load,
    Param,
    Ref,
    Role,
    Select,
    Source,
    Unary,
    Var,
)
from ragged.ir.interpret import (
    BarrierDivergence,
    CheckFailed,
    Fault,
    NotWritable,
    OutOfBounds,
    OutOfDomain,
    Overflow,
    Race,
    Undefined,
    interpret,
)
from ragged.ir.ops import BinaryOp, Combiner, UnaryOp
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    BarrierScope,
    Block,
    Check,
    For,
    If,
    Label,
    Let,
    LoopKind,
    Reduce,
    Stmt,
    Store,
    block,
)
from tests.support.python_work import calls

F32 = DType.FLOAT32


def size(name: str, source: Source = Source.INPUT) -> Function:
    return Function(name, (), source)


def table(name: str, *extents: Expr) -> Function:
    return Function(name, tuple(Param(Var(f"a{k}"), e) for k, e in enumerate(extents)), Source.INPUT)


def buffer(name: str, *shape: int | Expr, role: Role = Role.OUTPUT, dtype: DType = F32, **more) -> Buffer:
    return Buffer(name, dtype, tuple(index(n) for n in shape), role, **more)


def program(kernel: Stmt, *buffers: Buffer, functions: tuple[Function, ...] = (), bind: Stmt | None = None):
    stages = (Stage(StageKind.KERNEL, kernel),)
    if bind is not None:
        stages = (Stage(StageKind.BIND, bind), *stages)
    return Program("p", functions, buffers, (), stages)


def store(target: Buffer, indices: tuple[Expr, ...], value: Expr, label: str = "") -> Store:
    return Store(Label(label or target.name), target, indices, value)


def real(value: float, dtype: DType = F32) -> Const:
    return Const(value, dtype)


def evaluate(value: Expr, **sizes: int):
    """The value of an expression without variables."""
    y = buffer("y", 1, dtype=value.dtype)
    functions = {e.function for e in _walk(value) if isinstance(e, Call)}
    return interpret(program(store(y, (Const(0),), value), y, functions=tuple(functions)), sizes, {})["y"][0]


def _walk(expr: Expr):
    from ragged.ir.walk import subexpressions

    return subexpressions(expr)


# --- values ------------------------------------------------------------------------------------------------


def test_a_loop_over_a_ragged_bound():
    count, length = size("count"), table("length", Call(size("count")))
    i, j = Var("i"), Var("j")
    count = length.params[0].extent.function
    x, y = buffer("x", Call(count), 4, role=Role.PARAMETER), buffer("y", Call(count))
    body = block(
        store(y, (Ref(i),), real(0.0), "init"),
        For(
            j,
            Call(length, (Ref(i),)),
            Reduce(Label("y"), y, (Ref(i),), Combiner.SUM, Load(x, (Ref(i), Ref(j))), (j,), real(0.0)),
        ),
    )
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = interpret(
        program(For(i, Call(count), body), x, y, functions=(count, length)),
        {"count": 3},
        {"x": data, "length": np.array([0, 4, 2], np.int32)},
    )
    assert out["y"].tolist() == [0.0, 22.0, 17.0]
    assert out["y"].dtype == np.float32


def test_float32_rounds_after_each_operator():
    big = real(2.0**24)
    assert evaluate(Binary(BinaryOp.SUB, Binary(BinaryOp.ADD, big, real(1.0)), big)) == 0.0


def fma(a: float, b: float, c: float, dtype: DType):
    return evaluate(Fma(real(a, dtype), real(b, dtype), real(c, dtype)))


def nearest32(exact: Fraction) -> np.float32:
    """The float32 nearest to a number, ties to even, found by trying the neighbours."""
    guess = np.float32(float(exact))
    around = [guess, np.nextafter(guess, np.float32(np.inf)), np.nextafter(guess, np.float32(-np.inf))]
    return min(around, key=lambda f: (abs(Fraction(float(f)) - exact), int(f.view(np.int32)) & 1))


small = st.floats(-1e6, 1e6, width=32).filter(lambda f: f == 0 or abs(f) > 1e-6)


@settings(max_examples=200)
@given(small, small, small)
@example(1.0 + 2.0**-23, 1.0 + 2.0**-23, 2.0**-80)
@example(1.0 + 2.0**-12, 1.0 + 2.0**-12, 2.0**-70)  # a tie in float64 that the addend breaks
@example(1.0 + 2.0**-12, 1.0 + 2.0**-12, -(2.0**-70))
def test_fma_rounds_once(a: float, b: float, c: float):
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assert fma(a, b, c, F32) == nearest32(exact)
    assert fma(a, b, c, DType.FLOAT64) == float(exact)


def test_fma_of_what_is_not_finite():
    for dtype in (F32, DType.FLOAT64):
        assert fma(np.inf, 1.0, 1.0, dtype) == np.inf
        assert np.isnan(fma(np.inf, 0.0, 1.0, dtype))
        assert np.signbit(fma(-1.0, 0.0, -0.0, dtype))
    assert fma(1e300, 1e300, 1.0, DType.FLOAT64) == np.inf


def pair(first: float, second: float):
    return Binary(BinaryOp.PAIR, real(first), real(second))


def nearest16(value: float) -> float:
    """The bfloat16 nearest to a number, ties to even, found by trying the neighbours."""
    down = int(np.float32(value).view(np.uint32)) >> 16 << 16
    around = [np.uint32(bits).view(np.float32) for bits in (down, down + 0x10000)]
    return float(min(around, key=lambda f: (abs(float(f) - value), int(f.view(np.int32)) >> 16 & 1)))


@settings(max_examples=200)
@given(small, small, small, small, small)
@example(1.0 + 2.0**-8, -(1.0 + 3 * 2.0**-8), 1.0, 1.0, 0.0)  # ties
def test_pairs_are_rounded_and_their_products_are_added_one_by_one(a, b, c, d, e):
    a16, b16, c16, d16 = map(nearest16, (a, b, c, d))
    first = nearest32(Fraction(a16) * Fraction(c16) + Fraction(e))
    second = nearest32(Fraction(b16) * Fraction(d16) + Fraction(float(first)))
    assert evaluate(Fma(pair(a, b), pair(c, d), real(e))) == second
    alone = nearest32(Fraction(b16) * Fraction(d16) + Fraction(float(np.float32(a16 * c16))))
    assert evaluate(Binary(BinaryOp.DOT, pair(a, b), pair(c, d))) == alone


def test_pairs_of_what_is_no_number():
    nan = evaluate(pair(np.nan, -np.inf))
    assert int(nan) == 0x7FC0FF80
    assert int(evaluate(pair(3.4e38, 0.0))) == 0x7F800000  # rounded beyond the largest


@pytest.mark.parametrize(
    ("op", "a", "b", "result"),
    [
        (BinaryOp.FLOORDIV, -7, 2, -4),
        (BinaryOp.MOD, -7, 2, 1),
        (BinaryOp.MOD, 7, -2, -1),
        (BinaryOp.FLOORDIV, -7, 0, 0),
        (BinaryOp.MOD, -7, 0, -7),
        (BinaryOp.MIN, 3, -1, -1),
        (BinaryOp.MAX, 3, -1, 3),
        (BinaryOp.NE, 3, 3, False),
    ],
)
def test_integer_operators(op: BinaryOp, a: int, b: int, result: int):
    assert evaluate(Binary(op, Const(a), Const(b))) == result


@pytest.mark.parametrize(
    "value",
    [
        Binary(BinaryOp.ADD, Const(2**31 - 1, DType.INT32), Const(1, DType.INT32)),
        Binary(BinaryOp.FLOORDIV, Const(-(2**63)), Const(-1)),
        Unary(UnaryOp.NEG, Const(-(2**63))),
        Unary(UnaryOp.ABS, Const(-(2**31), DType.INT32)),
        Binary(BinaryOp.SUB, Const(0, DType.UINT8), Const(1, DType.UINT8)),
        Binary(BinaryOp.MUL, Const(2**31), Const(-(2**32) - 1)),
        Cast(DType.INT32, Const(float("nan"), F32)),
        Cast(DType.INT64, Const(-float("inf"), F32)),
        Cast(DType.INT8, Const(128.0, F32)),
    ],
)
def test_an_integer_without_a_value_is_an_error(value: Expr):
    with pytest.raises(Overflow, match=f"does not fit {value.dtype.value}, in 'y'"):
        evaluate(value)


def test_a_sum_of_integers_without_a_value_is_an_error():
    y, i = buffer("y", 1, dtype=DType.INT8), Var("i")
    term, zero = Const(100, DType.INT8), Const(0, DType.INT8)
    total = For(i, Const(2), Reduce(Label("total"), y, (Const(0),), Combiner.SUM, term, (i,), zero))
    with pytest.raises(Overflow, match=r"200 does not fit int8, in 'total'") as error:
        interpret(program(block(store(y, (Const(0),), zero, "init"), total), y), {}, {})
    assert "i = 1" in str(error.value)


def test_casts_are_those_of_c():
    assert evaluate(Cast(DType.INT32, real(-2.7))) == -2
    assert evaluate(Cast(DType.INT32, Const(2**32 + 5))) == 5
    assert evaluate(Cast(F32, Const(2**24 + 1))) == 2.0**24
    assert evaluate(Cast(DType.BOOL, real(0.5)))


@pytest.mark.parametrize(
    "op",
    [
        FUNCTIONS["exp"],
        FUNCTIONS["tanh"],
        FUNCTIONS["sigmoid"],
        FUNCTIONS["sqrt"],
        FUNCTIONS["log"],
        UnaryOp.ABS,
    ],
)
def test_functions_are_those_of_float64_rounded(op: UnaryOp | Elementwise):
    true = {
        FUNCTIONS["exp"]: np.exp,
        FUNCTIONS["tanh"]: np.tanh,
        FUNCTIONS["sigmoid"]: lambda a: 1 / (1 + np.exp(-a)),
        FUNCTIONS["sqrt"]: np.sqrt,
        FUNCTIONS["log"]: np.log,
        UnaryOp.ABS: np.abs,
    }[op]
    assert evaluate(Unary(op, real(0.3))) == np.float32(true(np.float64(np.float32(0.3))))
    assert evaluate(Unary(FUNCTIONS["sigmoid"], real(-1000.0))) == 0.0


def test_only_the_branch_taken_is_evaluated():
    n = size("n")
    broken = Binary(BinaryOp.EQ, Binary(BinaryOp.FLOORDIV, Const(1), Const(0)), Const(0))
    yes, no = Const(True, DType.BOOL), Const(False, DType.BOOL)
    assert evaluate(Select(yes, Const(1), Binary(BinaryOp.MOD, Call(n), Const(0))), n=1) == 1
    assert not evaluate(Binary(BinaryOp.AND, no, broken))
    assert evaluate(Binary(BinaryOp.OR, yes, broken))


def test_a_buffer_is_given_and_returned_as_it_is_indexed_whatever_its_order_in_memory():
    i, j = Var("i"), Var("j")
    x = buffer("x", 2, 3, role=Role.PARAMETER, order=(1, 0))
    y = buffer("y", 2, 3, order=(1, 0))
    loops = For(i, Const(2), For(j, Const(3), store(y, (Ref(i), Ref(j)), Load(x, (Ref(i), Ref(j))))))
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(interpret(program(loops, x, y), {}, {"x": data})["y"], data)


def test_a_buffer_shares_the_memory_of_the_one_it_aliases():
    w = buffer("w", 2, 3, role=Role.WORKSPACE, order=(1, 0))
    v = buffer("v", 6, role=Role.WORKSPACE, aliases=w)
    y = buffer("y", 1)
    body = block(
        store(w, (Const(1), Const(0)), real(7.0)),  # in memory: the second element
        store(y, (Const(0),), Load(v, (Const(1),))),
    )
    assert interpret(program(body, w, v, y), {}, {})["y"].tolist() == [7.0]


def test_what_was_not_written_is_poison():
    y, z = buffer("y", 2), buffer("z", 1, dtype=DType.INT32)
    out = interpret(program(Block(), y, z), {}, {})
    assert np.isnan(out["y"]).all()
    assert out["z"].tolist() == [-(2**31)]


def test_ten_thousand_iterations():
    i = Var("i")
    y = buffer("y", 10_000)
    value = Cast(F32, Binary(BinaryOp.MOD, add(Ref(i), 1), Const(7)))
    out = interpret(program(For(i, Const(10_000), store(y, (Ref(i),), value)), y), {}, {})
    assert np.array_equal(out["y"], (np.arange(10_000) + 1) % 7)


def test_the_kernel_reads_what_bind_wrote_or_what_is_given_in_its_place():
    i, k = Var("i"), Var("k")
    x = buffer("x", 3, role=Role.PARAMETER)
    packed, y = buffer("packed", 3, role=Role.BOUND), buffer("y", 3)
    double = Binary(BinaryOp.ADD, Load(x, (Ref(k),)), Load(x, (Ref(k),)))
    p = program(
        For(i, Const(3), store(y, (Ref(i),), Load(packed, (Ref(i),)))),
        x,
        packed,
        y,
        bind=For(k, Const(3), store(packed, (Ref(k),), double)),
    )
    data = np.array([1, 2, 3], np.float32)
    whole = interpret(p, {}, {"x": data})
    assert whole["y"].tolist() == [2, 4, 6]
    bound = interpret(p, {}, {"x": data}, stages=[StageKind.BIND])
    assert list(bound) == ["packed"]
    later = interpret(p, {}, {"x": data, "packed": bound["packed"]}, stages=[StageKind.KERNEL])
    assert later["y"].tolist() == [2, 4, 6]
    with pytest.raises(DataError, match="'packed' is used where it has no contents"):
        interpret(p, {}, {"x": data}, stages=[StageKind.KERNEL])
    with pytest.raises(DataError, match="'packed' is given, and the stages that are run fill it"):
        interpret(p, {}, {"x": data, "packed": data})


# --- faults ------------------------------------------------------------------------------------------------


def test_an_uninitialised_read():
    i = Var("i")
    y = buffer("y", 4)
    acc = buffer("acc", 1, role=Role.LOCAL)
    reduce = Reduce(Label("acc.sum"), acc, (Const(0),), Combiner.SUM, real(1.0), (i,), real(0.0))
    body = Alloc(acc, block(For(i, Const(4), reduce), store(y, (Const(0),), Load(acc, (Const(0),)))))
    with pytest.raises(Undefined) as error:
        interpret(program(body, y), {}, {})
    assert str(error.value) == "acc[0] is read and was never written, in 'acc.sum'\n  example: i = 0"


def test_a_local_buffer_starts_undefined_each_time():
    i = Var("i")
    y, acc = buffer("y", 2), buffer("acc", 1, role=Role.LOCAL)
    first = If(Binary(BinaryOp.EQ, Ref(i), Const(0)), store(acc, (Const(0),), real(1.0), "once"))
    body = Alloc(acc, block(first, store(y, (Ref(i),), Load(acc, (Const(0),)))))
    with pytest.raises(Undefined, match=r"acc\[0\]"):
        interpret(program(For(i, Const(2), body), y), {}, {})


@pytest.mark.parametrize("place", [(0, 3), (1, -1), (-1, 0), (2, 0)])
def test_an_index_outside_its_dimension_is_an_error_even_inside_the_buffer(place: tuple[int, int]):
    y = buffer("y", 2, 3)
    with pytest.raises(OutOfBounds, match=r"is outside its shape \(2, 3\), in 'y'"):
        interpret(program(store(y, tuple(Const(i) for i in place), real(0.0)), y), {}, {})


def test_a_call_outside_the_domain():
    n = size("n")
    left = table("left", Call(n))
    y = buffer("y", 1, dtype=INDEX)
    p = program(store(y, (Const(0),), Call(left, (Const(2),))), y, functions=(n, left))
    with pytest.raises(OutOfDomain, match=r"left\(2\) is outside \(2,\), in 'y'"):
        interpret(p, {"n": 2}, {"left": np.zeros(2, np.int32)})


def test_the_domain_of_an_expression():
    a = Var("a")
    f = Function("f", (Param(a, Const(3)),), Source.EXPRESSION, add(Ref(a), 1))
    assert evaluate(Call(f, (Const(2),))) == 3
    with pytest.raises(OutOfDomain, match=r"f\(3\)"):
        evaluate(Call(f, (Const(3),)))


def test_a_check_that_fails():
    n = size("n")
    check = Check(
        Label("c"), Binary(BinaryOp.LT, Call(n), Const(3)), "{0} is not below {1}", (Call(n), Const(3))
    )
    interpret(program(check, functions=(n,)), {"n": 2}, {})
    with pytest.raises(CheckFailed, match=r"^4 is not below 3$") as error:
        interpret(program(check, functions=(n,)), {"n": 4}, {})
    assert (error.value.label, error.value.witness) == (check.label, (4, 3))


def test_a_stage_may_not_write_what_is_the_callers():
    x = buffer("x", 1, role=Role.PARAMETER)
    with pytest.raises(NotWritable, match="'x' writes 'x'"):
        interpret(program(store(x, (Const(0),), real(0.0)), x), {}, {"x": np.zeros(1, np.float32)})


@pytest.mark.parametrize(
    ("sizes", "arrays", "message"),
    [
        ({"n": 2}, {"left": np.zeros(3, np.int32)}, r"'left' has the shape \(3,\), not \(2,\)"),
        ({"n": 2}, {"left": np.zeros(2, np.int64)}, "'left' holds int64, not int32"),
        ({"n": -1}, {}, "size 'n' is -1"),
        ({"n": 2}, {}, "array 'left' is read and was not given"),
        ({}, {}, "size 'n' is used and was not given"),
        ({"n": 2, "m": 3}, {}, "no size 'm'"),
        ({"n": 2}, {"right": np.zeros(2, np.int32)}, "takes no array 'right'"),
        ({"n": 2}, {"y": np.zeros(1, np.float32)}, "takes no array 'y'"),
    ],
)
def test_data_that_does_not_fit(sizes, arrays, message: str):
    n = size("n")
    left = table("left", Call(n))
    y = buffer("y", Call(n), dtype=INDEX)
    p = program(store(y, (Const(0),), Call(left, (Const(0),))), y, functions=(n, left))
    with pytest.raises(DataError, match=message):
        interpret(p, sizes, arrays)


# --- parallel loops ----------------------------------------------------------------------------------------


def test_independent_iterations_run_in_any_order():
    i, j = Var("i"), Var("j")
    y, acc = buffer("y", 5), buffer("acc", 1, role=Role.LOCAL)
    body = Alloc(
        acc,
        block(
            store(acc, (Const(0),), real(0.0), "init"),
            For(j, Ref(i), Reduce(Label("acc"), acc, (Const(0),), Combiner.SUM, real(1.0), (j,), real(0.0))),
            store(y, (Ref(i),), Load(acc, (Const(0),))),
        ),
    )
    p = program(For(i, Const(5), body, LoopKind.PARALLEL), y)
    for seed in range(3):
        assert interpret(p, {}, {}, seed=seed)["y"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(8))
def test_a_swapped_order_is_a_race(seed: int):
    """A scan with a loop that was made parallel: y[i + 1] reads y[i]."""
    i = Var("i")
    y = buffer("y", 5)
    step = store(y, (add(Ref(i), 1),), Load(y, (Ref(i),)), "step")
    p = program(block(store(y, (Const(0),), real(1.0), "init"), For(i, Const(4), step, LoopKind.PARALLEL)), y)
    with pytest.raises(Race) as race:
        interpret(p, {}, {}, seed=seed)
    assert race.value.buffer == "y"
    assert race.value.places == ("step", "step")
    assert 1 <= race.value.element[0] <= 3


def test_two_iterations_that_write_one_element_race():
    i = Var("i")
    y = buffer("y", 5)
    p = program(For(i, Const(4), store(y, (Const(2),), real(1.0), "put"), LoopKind.PARALLEL), y)
    with pytest.raises(
        Race, match=r"^race on y\[2\] between 'put' and 'put'\n  because: iteration i = \d has written"
    ):
        interpret(p, {}, {})


def test_a_race_with_a_reduction_and_in_nested_parallel_loops():
    i, j = Var("i"), Var("j")
    y = buffer("y", 2)
    total = Reduce(Label("total"), y, (Ref(j),), Combiner.SUM, real(1.0), (i,), real(0.0))
    init = block(store(y, (Const(0),), real(0.0), "a"), store(y, (Const(1),), real(0.0), "b"))
    inner = For(j, Const(2), total, LoopKind.PARALLEL)
    assert interpret(program(block(init, For(i, Const(3), inner)), y), {}, {})["y"].tolist() == [3, 3]
    with pytest.raises(Race, match="iteration i = "):
        interpret(program(block(init, For(i, Const(3), inner, LoopKind.PARALLEL)), y), {}, {})


# --- teams -------------------------------------------------------------------------------------------------


def levels(barrier: bool, workers: Function) -> Program:
    """Three levels: each sums the whole level before, element by element, split over the team's workers."""
    w, level, i, j = Var("w"), Var("level"), Var("i"), Var("j")
    h = buffer("h", 4, 6)
    mine = Binary(BinaryOp.EQ, Binary(BinaryOp.MOD, Ref(i), Call(workers)), Ref(w))
    next_level = add(Ref(level), 1)
    term = Reduce(
        Label("sum"), h, (next_level, Ref(i)), Combiner.SUM, Load(h, (Ref(level), Ref(j))), (j,), real(0.0)
    )
    work = block(store(h, (next_level, Ref(i)), real(0.0), "zero"), For(j, Const(6), term))
    meet: Stmt = Barrier(Label("meet")) if barrier else Block()
    k = Var("k")
    lowest = If(
        Binary(BinaryOp.EQ, Binary(BinaryOp.MOD, Ref(k), Call(workers)), Ref(w)),
        store(h, (Const(0), Ref(k)), Cast(F32, Ref(k)), "lowest"),
    )
    body = block(
        For(k, Const(6), lowest),
        Barrier(Label("start")),
        For(level, Const(3), block(For(i, Const(6), If(mine, work)), meet)),
    )
    return program(For(w, Call(workers), body, LoopKind.TEAM), h, functions=(workers,))


@pytest.mark.parametrize("team", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_team_walks_levels_together(team: int, seed: int):
    out = interpret(levels(True, size("workers", Source.CALL)), {}, {}, workers=team, seed=seed)
    assert out["h"][:, 0].tolist() == [0, 15, 90, 540]


@pytest.mark.parametrize("seed", range(8))
def test_a_dropped_barrier_is_a_race(seed: int):
    p = levels(False, size("workers", Source.CALL))
    assert interpret(p, {}, {}, workers=1)["h"][3, 0] == 540
    with pytest.raises(Race) as race:
        interpret(p, {}, {}, workers=2, seed=seed)
    assert race.value.buffer == "h"
    assert set(race.value.places) <= {"zero", "sum"}
    assert "sum" in race.value.places


def test_a_barrier_that_one_worker_skips():
    w, step = Var("w"), Var("step")
    meet = If(Binary(BinaryOp.NE, Ref(w), Const(1)), Barrier(Label("meet")))
    p = program(For(w, Const(3), For(step, Const(2), meet), LoopKind.TEAM))
    with pytest.raises(BarrierDivergence, match="diverge at a barrier") as error:
        interpret(p, {}, {})
    assert error.value.example == "worker 0 is at 'meet', worker 1 is at the end, worker 2 is at 'meet'"


def test_different_barriers_do_not_meet():
    w, y = Var("w"), buffer("y", 1)
    body = If(Binary(BinaryOp.EQ, Ref(w), Const(0)), Barrier(Label("a")), Barrier(Label("b")))
    with pytest.raises(BarrierDivergence, match="worker 0 is at 'a', worker 1 is at 'b'"):
        interpret(program(For(w, Const(2), body, LoopKind.TEAM), y), {}, {})


def test_lets_and_locals_of_a_team_are_each_workers_own():
    w, v = Var("w"), Var("v")
    y, mine = buffer("y", 3, dtype=INDEX), buffer("mine", 1, dtype=INDEX, role=Role.LOCAL)
    body = Let(
        v,
        Binary(BinaryOp.MUL, Ref(w), Const(10)),
        Alloc(
            mine,
            block(
                store(mine, (Const(0),), Ref(v)),
                Barrier(Label("meet"), BarrierScope.TEAM),
                store(y, (Ref(w),), Load(mine, (Const(0),))),
            ),
        ),
    )
    out = interpret(program(For(w, Const(3), body, LoopKind.TEAM), y), {}, {})
    assert out["y"].tolist() == [0, 10, 20]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("scope", list(BarrierScope))
def test_a_barrier_where_no_team_walks_together(inside: bool, scope: BarrierScope):
    w, i = Var("w"), Var("i")
    body: Stmt = For(i, Const(2), Barrier(Label("meet"), scope), LoopKind.PARALLEL)
    if inside:
        body = For(w, Const(2), body, LoopKind.TEAM)
    with pytest.raises(InternalError, match="barrier"):
        interpret(program(body), {}, {})


# --- against NumPy -----------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_a_product_of_matrices(m: int, n: int, k: int, seed: int):
    i, j, p = Var("i"), Var("j"), Var("p")
    a, b = buffer("a", m, k, role=Role.PARAMETER), buffer("b", k, n, role=Role.PARAMETER)
    c = buffer("c", m, n)
    term = Binary(BinaryOp.MUL, Load(a, (Ref(i), Ref(p))), Load(b, (Ref(p), Ref(j))))
    body = block(
        store(c, (Ref(i), Ref(j)), real(0.0), "zero"),
        For(p, Const(k), Reduce(Label("c"), c, (Ref(i), Ref(j)), Combiner.SUM, term, (p,), real(0.0))),
    )
    loops = For(i, Const(m), For(j, Const(n), body), LoopKind.PARALLEL)
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(m, k)).astype(np.float32), rng.normal(size=(k, n)).astype(np.float32)
    out = interpret(program(loops, a, b, c), {}, {"a": x, "b": y}, seed=seed)["c"]
    exact = np.zeros((m, n), np.float32)
    for step in range(k):
        exact = exact + np.outer(x[:, step], y[step])
    assert np.array_equal(out, exact)


def test_an_iteration_calls_few_functions():
    """The interpreter's time is that of calls: one for each node of an expression, one more to check an integer."""
    i, x, y = Var("i"), buffer("x", 100, role=Role.PARAMETER), buffer("y", 100)
    column = Binary(BinaryOp.MOD, Binary(BinaryOp.MUL, Ref(i), Const(3)), Const(50))
    product = Binary(BinaryOp.MUL, Load(x, (column,)), Load(x, (Ref(i),)))

    def run(iterations: int, kind: LoopKind) -> int:
        loop = For(i, Const(iterations), store(y, (Ref(i),), product), kind)
        inputs = {"x": np.ones(100, np.float32)}
        return calls(lambda: interpret(program(loop, x, y), {}, inputs))

    assert run(20, LoopKind.SERIAL) - run(10, LoopKind.SERIAL) <= 10 * 28
    assert run(20, LoopKind.PARALLEL) - run(10, LoopKind.PARALLEL) <= 10 * 55


def test_every_fault_is_a_fault():
    for kind in (Undefined, OutOfBounds, OutOfDomain, Overflow, NotWritable, Race, BarrierDivergence):
        assert issubclass(kind, Fault)
    assert within(Const(1), Const(0), sub(Const(3), 1)).dtype is DType.BOOL
