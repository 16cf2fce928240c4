"""loop_nests: which expressions have a value wherever they stand."""

import pytest

from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Call, Const, Function, Load, Param, Ref, Role, Source, Var
from ragged.ir.ops import BinaryOp
from ragged.transform.loops.loop_nests import is_total

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
