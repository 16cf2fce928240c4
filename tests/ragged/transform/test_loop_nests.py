"""loop_nests: loops directly inside each other, and which expressions have a value wherever they stand."""

import pytest

from ragged.errors import ScheduleError
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Call, Const, Function, Load, Param, Ref, Role, Source, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.ir.printer import expr_text
from ragged.ir.stmt import If, Let
from ragged.transform.loops.loop_nests import find_nest, is_total
from tests.ragged.transform.support import loop

N = Ref(Var("n"))
SIZE = Call(Function("count", (), Source.INPUT), ())
LOOKED_UP = Call(Function("length", (Param(Var("b"), SIZE),), Source.INPUT), (N,))
READ = Load(Buffer("m", DType.INT64, (SIZE,), Role.WORKSPACE), (N,))


def of(op, lhs, rhs):
    return Binary(op, lhs, rhs)


@pytest.mark.parametrize(
    "expr", [Const(3), N, SIZE, of(BinaryOp.MUL, N, SIZE), of(BinaryOp.MIN, SIZE, Const(0))]
)
def test_what_has_a_value_anywhere(expr):
    assert is_total(expr)
    assert is_total(of(BinaryOp.FLOORDIV, expr, Const(2))) and is_total(of(BinaryOp.MOD, expr, Const(-2)))
    for op in (BinaryOp.FLOORDIV, BinaryOp.MOD):
        assert not is_total(of(op, expr, Const(0))) and not is_total(of(op, Const(2), SIZE))


@pytest.mark.parametrize("expr", [LOOKED_UP, READ])
def test_what_has_a_value_in_some_places_alone(expr):
    assert not is_total(expr)
    for op in (BinaryOp.ADD, BinaryOp.FLOORDIV, BinaryOp.MOD):
        assert not is_total(of(op, expr, Const(2))) and not is_total(of(op, Const(2), expr))


NEST = """\
program("nest")

count: input()
x: output(float32[count, 9, 3])

with kernel:
    for n in serial(count):
        m = n + 1
        if m < 5:
            for i in serial(m + 2):
                k = i + m
                for j in serial(k):
                    x[n, i, j] = 1.0
"""
WHAT = "fuse: cannot fuse the loops"


@pytest.mark.parametrize("names", ["ni", "in"])
def test_a_nest_and_what_stands_between(names):
    program = parse(NEST)
    nest = find_nest(program, [loop(program, name) for name in names], WHAT)
    assert [each.var.name for each in nest.loops] == ["n", "i"] and nest.site.stmt is nest.loops[0]
    assert [(outside, type(item)) for outside, item in nest.between] == [(1, Let), (1, If)]
    assert nest.body is nest.loops[1].body and isinstance(nest.body, Let)
    assert [expr_text(each) for each in nest.evaluated] == ["n + 1", "m < 5", "count", "m + 2"]
    assert [expr_text(nest.extent(depth)) for depth in (0, 1)] == ["count", "n + 1 + 2"]


def test_an_extent_without_lets():
    program = parse(NEST)
    nest = find_nest(program, [loop(program, name) for name in "nij"], WHAT)
    assert [expr_text(nest.extent(depth)) for depth in (1, 2)] == ["n + 1 + 2", "i + (n + 1)"]


@pytest.mark.parametrize(
    ("names", "because"),
    [
        ("nj", "the loop 'i' stands directly inside 'n'"),
        ("nn", "each loop must be named once"),
        ("", "each loop must be named once"),
    ],
)
def test_loops_that_make_no_nest_are_refused(names, because):
    program = parse(NEST)
    with pytest.raises(ScheduleError, match=f"^{WHAT}\n  because: {because}"):
        find_nest(program, [loop(program, name) for name in names], WHAT)


def test_a_loop_that_is_not_there_is_refused_in_the_name_of_the_primitive():
    program = parse(NEST)
    with pytest.raises(ScheduleError, match=r"^fuse: the program has no loop 'gone'\n"):
        find_nest(program, (loop(program, "n"), Var("gone")), WHAT)
