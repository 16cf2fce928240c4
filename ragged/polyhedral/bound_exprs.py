"""From isl's quasi-affine functions of parameters to expressions of the IR."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from ragged.arith.fold import floordiv, plus, times
from ragged.ir.expr import Binary, Const, Expr, Select, Unary
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.polyhedral.context import PolyhedralLimitError

_COMPARED = {"eq": BinaryOp.EQ, "lt": BinaryOp.LT, "le": BinaryOp.LE, "gt": BinaryOp.GT, "ge": BinaryOp.GE}
_JOINED = {
    **_COMPARED,
    "min": BinaryOp.MIN,
    "max": BinaryOp.MAX,
    "and_": BinaryOp.AND,
    "and_then": BinaryOp.AND,
    "or_": BinaryOp.OR,
    "or_else": BinaryOp.OR,
    "sub": BinaryOp.SUB,
    "pdiv_r": BinaryOp.MOD,
    "zdiv_r": BinaryOp.MOD,
}


def expr_of(built: Any, parameters: Mapping[str, Expr]) -> Expr:
    """Return isl's expression `built`, of the parameters by name.

    Raises:
        PolyhedralLimitError: it has an operator that the IR lacks.
    """
    import islpy

    match built.get_type():
        case islpy.ast_expr_type.int:
            return Const(int(built.get_val().to_python()))
        case islpy.ast_expr_type.id:
            return parameters[built.get_id().get_name()]
        case _:
            operands = [expr_of(built.get_op_arg(k), parameters) for k in range(built.get_op_n_arg())]
            return _operator(built.get_op_type().name, operands)


def _operator(name: str, operands: list[Expr]) -> Expr:
    match name, operands:
        case "add", (lhs, Unary(op=UnaryOp.NEG, operand=rhs)):
            return Binary(BinaryOp.SUB, lhs, rhs)
        case "add", (Unary(op=UnaryOp.NEG, operand=lhs), rhs):
            return Binary(BinaryOp.SUB, rhs, lhs)
        case "add", (lhs, rhs):
            return plus(lhs, rhs)
        case "mul", (lhs, rhs):
            return times(lhs, rhs)
        case "minus", (operand,):
            return Unary(UnaryOp.NEG, operand)
        case (("fdiv_q" | "pdiv_q" | "div"), (lhs, Const(value=by))):
            return floordiv(lhs, int(by))
        case (("cond" | "select"), (condition, if_true, if_false)):
            return Select(condition, if_true, if_false)
        case _, (_, _, *_) if name in _JOINED:
            return reduce(lambda lhs, rhs: Binary(_JOINED[name], lhs, rhs), operands)
        case _:
            raise PolyhedralLimitError(f"the operator {name} of isl")
