"""Parsing expressions."""

from __future__ import annotations

import ast
from functools import reduce

from ragged.errors import InternalError
from ragged.ir.dtype import INDEX, DType
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
    Ref,
    Select,
    Unary,
    Var,
)
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.text.names import BINARY_CALLS, DTYPES, unary_call
from ragged.ir.text.scope import NameScope, elements

_FLOATS = {"inf": float("inf"), "nan": float("nan")}

_ARITHMETIC: dict[type[ast.operator], BinaryOp] = {
    ast.Add: BinaryOp.ADD,
    ast.Sub: BinaryOp.SUB,
    ast.Mult: BinaryOp.MUL,
    ast.Div: BinaryOp.DIV,
    ast.FloorDiv: BinaryOp.FLOORDIV,
    ast.Mod: BinaryOp.MOD,
}

_COMPARISONS: dict[type[ast.cmpop], BinaryOp] = {
    ast.Eq: BinaryOp.EQ,
    ast.NotEq: BinaryOp.NE,
    ast.Lt: BinaryOp.LT,
    ast.LtE: BinaryOp.LE,
    ast.Gt: BinaryOp.GT,
    ast.GtE: BinaryOp.GE,
}


def read(scope: NameScope, node: ast.expr) -> Expr:
    """Return the expression that `node` stands for; a ModelError says what it cannot be."""
    try:
        return _read(scope, node)
    except InternalError as fault:  # a node's own invariants
        raise scope.error(node, fault.what) from None


def read_all(scope: NameScope, nodes: list[ast.expr]) -> tuple[Expr, ...]:
    """Return the expressions that `nodes` stand for."""
    return tuple(read(scope, node) for node in nodes)


def _read(scope: NameScope, node: ast.expr) -> Expr:
    at = scope.at(node)
    number = _number(node)
    if number is not None:
        return Const(number, _default_dtype(number), at)
    match node:
        case ast.Name():
            return _name(scope, node)
        case ast.Subscript(value=target, slice=indices):
            return Load(scope.buffer(target), read_all(scope, elements(indices)), at)
        case ast.Call(func=ast.Name()):
            return _call(scope, node)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Unary(UnaryOp.NEG, read(scope, operand), at)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Unary(UnaryOp.NOT, read(scope, operand), at)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return Binary(_ARITHMETIC[type(op)], read(scope, left), read(scope, right), at)
        case ast.BoolOp(op=op, values=values):
            logical = BinaryOp.AND if isinstance(op, ast.And) else BinaryOp.OR
            return reduce(lambda lhs, rhs: Binary(logical, lhs, rhs, at), read_all(scope, values))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return Binary(_COMPARISONS[type(op)], read(scope, left), read(scope, right), at)
        case ast.Compare():
            raise scope.error(node, "comparisons do not chain here", fix="write a < b and b < c")
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return Select(read(scope, test), read(scope, body), read(scope, orelse), at)
        case _:
            raise scope.error(node, f"'{ast.unparse(node)}' is no expression of a program")


def _number(node: ast.expr) -> int | float | bool | None:
    """Return the value of a literal, which may have a sign; None if `node` is something else."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.Name(id=name):
            return _FLOATS.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return None if isinstance(value, bool) else -value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id=name)) if name in _FLOATS:
            return -_FLOATS[name]
        case _:
            return None


def _default_dtype(value: int | float | bool) -> DType:
    match value:
        case bool():
            return DType.BOOL
        case int():
            return INDEX
        case _:
            return DType.FLOAT32


def _name(scope: NameScope, node: ast.Name) -> Expr:
    match scope.look_up(node):
        case Var() as var:
            return Ref(var, scope.at(node))
        case Function() as function:
            return Call(function, (), scope.at(node))
        case Buffer(name=name):
            raise scope.error(node, f"the buffer '{name}' is read without indices")


def _call(scope: NameScope, node: ast.Call) -> Expr:
    assert isinstance(node.func, ast.Name)
    name, at = node.func.id, scope.at(node)
    scope.options(node)
    if name == "const":
        return _constant(scope, node)
    operator = unary_call(name)
    count = 3 if name == "fma" else 2 if name in BINARY_CALLS else 1
    if operator is not None or name in BINARY_CALLS or name in DTYPES or name in ("neg", "fma"):
        scope.arguments(node, count, count)
    args = read_all(scope, node.args)
    if name == "neg":
        return Unary(UnaryOp.NEG, args[0], at)
    if name == "fma":
        return Fma(args[0], args[1], args[2], at)
    if operator is not None:
        return Unary(operator, args[0], at)
    if name in BINARY_CALLS:
        return Binary(BINARY_CALLS[name], args[0], args[1], at)
    if name in DTYPES:
        return Cast(DTYPES[name], args[0], at)
    return Call(scope.function(node.func), args, at)


def _constant(scope: NameScope, node: ast.Call) -> Const:
    literal, named = scope.arguments(node, 2, 2)
    number, dtype = _number(literal), scope.dtype(named)
    if number is None:
        raise scope.error(literal, f"'{ast.unparse(literal)}' is no literal")
    return Const(float(number) if dtype.is_float else number, dtype, scope.at(node))
