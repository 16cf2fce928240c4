"""The shapes of arrays as functions of a call's sizes, made once and cheap to call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, assert_never

from ragged.errors import InternalError
from ragged.ir.expr import Binary, Call, Cast, Const, Expr, Fma, Function, Load, Ref, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp

Shape: TypeAlias = tuple[int, ...]


def shapes_function(
    shapes: Sequence[tuple[Expr, ...]], sizes: Sequence[Function]
) -> Callable[..., tuple[Shape, ...]]:
    """Return a Python function from the values of `sizes`, one by one, to the values of `shapes`.

    Raises `InternalError` for a shape that is not made of sizes alone.
    """
    names = {size: f"s{i}" for i, size in enumerate(sizes)}
    rows = ("(" + "".join(f"{_text(extent, names, {})}, " for extent in shape) + ")" for shape in shapes)
    text = f"lambda {', '.join(names.values())}: (" + "".join(f"{row}, " for row in rows) + ")"
    function: Callable[..., tuple[Shape, ...]] = eval(
        text, {"__builtins__": {"min": min, "max": max}}
    )  # our own text
    return function


def _text(expr: Expr, names: Mapping[Function, str], values: Mapping[Var, str]) -> str:
    def text(inner: Expr) -> str:
        return _text(inner, names, values)

    match expr:
        case Const(value=value):
            return repr(value)
        case Ref(var=var) if var in values:
            return values[var]
        case Call(function=function, args=args):
            if function.body is not None:
                bound = {p.var: text(arg) for p, arg in zip(function.params, args, strict=True)}
                return _text(function.body, names, bound)
            if function in names:
                return names[function]
        case Unary(op=UnaryOp.NEG | UnaryOp.NOT as op, operand=operand):
            return f"({op.value} {text(operand)})"
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX as op, lhs=lhs, rhs=rhs):
            return f"{op.value}({text(lhs)}, {text(rhs)})"
        case Binary(op=op, lhs=lhs, rhs=rhs) if op is not BinaryOp.DIV:
            return f"({text(lhs)} {op.value} {text(rhs)})"
        case Select(condition=condition, if_true=if_true, if_false=if_false):
            return f"({text(if_true)} if {text(condition)} else {text(if_false)})"
        case Cast(dtype=dtype, operand=operand) if dtype.is_int:
            return text(operand)
        case Ref() | Load() | Unary() | Binary() | Fma() | Cast():
            pass
        case _:
            assert_never(expr)
    raise InternalError(f"a shape depends on more than sizes: {expr}")
