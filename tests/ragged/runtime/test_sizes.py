"""Shapes as functions of a call's arguments."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.errors import InternalError
from ragged.ir.build import add
from ragged.ir.expr import Call, Cast, Const, Function, Param, Ref, Role, Select, Source, Var
from ragged.runtime.sizes import shapes_of
from tests.ragged.codegen.hand import I32, at, buffer, call, op, size, table

n, m = size("n"), size("m")
begin = table("begin", add(Call(n), 1))
p = Var("p")
twice = Function("twice", (Param(p, Const(9)),), Source.EXPRESSION, add(Ref(p), p))


def test_shapes():
    last = at(begin, n)
    shapes = shapes_of(
        [
            (),
            (Call(n), Const(3)),
            (op("//", Call(m), Const(2)), op("max", op("min", Call(n), Call(m)), Const(1))),
            (at(twice, Call(n)), last),
            (
                Select(op(">", Call(n), Const(1)), Call(m), Const(0)),
                Cast(I32, call("-", op("-", Call(n), Const(9)))),
            ),
        ]
    )
    assert set(shapes.functions) == {n, m, begin}
    values = {n: 2, m: 7, begin: np.array([0, 4, 6], np.int32)}
    result = shapes.compute(*(values[function] for function in shapes.functions))
    assert result == ((), (2, 3), (3, 2), (4, 6), (7, 7))
    assert all(type(extent) is int for shape in result for extent in shape)


def test_a_shape_of_contents_is_refused():
    with pytest.raises(InternalError, match="a shape is made of more than sizes"):
        shapes_of([(Cast(p.dtype, at(buffer("x", 3, role=Role.PAYLOAD), 0)),)])
