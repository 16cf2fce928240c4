"""Printing expressions, with the fewest parentheses that read back as the same tree."""

from __future__ import annotations

from enum import IntEnum
from typing import assert_never

from ragged.ir.dtype import INDEX, DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import Binary, Call, Cast, Const, Expr, Fma, Load, Ref, Select, Unary
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.text.names import BINARY_CALLS, Names


class Level(IntEnum):
    """How tightly Python binds a form; an operand that binds less tightly than its place is parenthesised."""

    TERNARY = 0
    OR = 1
    AND = 2
    NOT = 3
    COMPARE = 4
    SUM = 5
    PRODUCT = 6
    NEGATE = 7
    ATOM = 8


DEFAULT_DTYPES = (DType.BOOL, INDEX, DType.FLOAT32)
"""What a bare literal is; other constants name their dtype."""


def show(names: Names, expr: Expr, place: Level = Level.TERNARY) -> str:
    """Return the text of `expr` where operands must bind at least as tightly as `place`."""
    text, level = _form(names, expr)
    return f"({text})" if level < place else text


def show_all(names: Names, exprs: tuple[Expr, ...]) -> str:
    """Return the texts of `exprs` with commas."""
    return ", ".join(show(names, expr) for expr in exprs)


def subscript(names: Names, exprs: tuple[Expr, ...]) -> str:
    """Return `exprs` as they stand between brackets."""
    return show_all(names, exprs) or "()"


def literal(value: int | float | bool, dtype: DType) -> str:
    """Return a number as its dtype has it, `inf` and `nan` by these names."""
    if dtype is DType.BOOL:
        return repr(bool(value))
    return repr(float(value)) if dtype.is_float else repr(value)


def _form(names: Names, expr: Expr) -> tuple[str, Level]:
    match expr:
        case Const(value=value, dtype=dtype):
            text = literal(value, dtype)
            if dtype not in DEFAULT_DTYPES:
                return f"const({text}, {dtype.value})", Level.ATOM
            return text, Level.NEGATE if text.startswith("-") else Level.ATOM
        case Ref(var=var):
            return names.value(var), Level.ATOM
        case Load(buffer=buffer, indices=indices):
            return f"{names.value(buffer)}[{subscript(names, indices)}]", Level.ATOM
        case Call(function=function, args=args):
            name = names.value(function)
            return f"{name}({show_all(names, args)})" if args else name, Level.ATOM
        case Unary(op=op, operand=operand):
            return _unary(names, op, operand)
        case Binary(op=op, lhs=lhs, rhs=rhs):
            return _binary(names, op, lhs, rhs)
        case Fma(a=a, b=b, c=c):
            return f"fma({show_all(names, (a, b, c))})", Level.ATOM
        case Select(condition=condition, if_true=if_true, if_false=if_false):
            parts = (show(names, if_true, Level.OR), show(names, condition, Level.OR), show(names, if_false))
            return "{} if {} else {}".format(*parts), Level.TERNARY
        case Cast(dtype=dtype, operand=operand):
            return f"{dtype.value}({show(names, operand)})", Level.ATOM
        case _:
            assert_never(expr)


def _unary(names: Names, op: UnaryOp | Elementwise, operand: Expr) -> tuple[str, Level]:
    match op:
        case UnaryOp.NEG if isinstance(operand, Const):  # `-1` is a constant
            return f"neg({show(names, operand)})", Level.ATOM
        case UnaryOp.NEG:
            return f"-{show(names, operand, Level.NEGATE)}", Level.NEGATE
        case UnaryOp.NOT:
            return f"not {show(names, operand, Level.NOT)}", Level.NOT
        case _:
            return f"{op.value}({show(names, operand)})", Level.ATOM


def _binary(names: Names, op: BinaryOp, lhs: Expr, rhs: Expr) -> tuple[str, Level]:
    if op.value in BINARY_CALLS:
        return f"{op.value}({show_all(names, (lhs, rhs))})", Level.ATOM
    level = _level(op)
    tighter = Level(level + 1)
    left = tighter if op.is_comparison else level  # comparisons do not chain; all else binds to the left
    return f"{show(names, lhs, left)} {op.value} {show(names, rhs, tighter)}", level


def _level(op: BinaryOp) -> Level:
    match op:
        case BinaryOp.OR:
            return Level.OR
        case BinaryOp.AND:
            return Level.AND
        case BinaryOp.ADD | BinaryOp.SUB:
            return Level.SUM
        case BinaryOp.MUL | BinaryOp.DIV | BinaryOp.FLOORDIV | BinaryOp.MOD:
            return Level.PRODUCT
        case _:
            return Level.COMPARE
