"""Expressions as CUDA C++."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np

from ragged.arith.fold import ZERO, plus, times
from ragged.errors import InternalError
from ragged.ir.dtype import DType
from ragged.ir.elementwise import Elementwise
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
from ragged.ir.rewrite import substitute

TYPES = {
    DType.BOOL: "bool",
    DType.INT32: "int",
    DType.INT64: "long long",
    DType.BFLOAT16X2: "unsigned int",
    DType.FLOAT32: "float",
    DType.FLOAT64: "double",
}
"""What an element type is called."""

_INFIX = {
    BinaryOp.ADD: "+",
    BinaryOp.SUB: "-",
    BinaryOp.MUL: "*",
    BinaryOp.DIV: "/",
    BinaryOp.EQ: "==",
    BinaryOp.NE: "!=",
    BinaryOp.LT: "<",
    BinaryOp.LE: "<=",
    BinaryOp.GT: ">",
    BinaryOp.GE: ">=",
    BinaryOp.AND: "&&",
    BinaryOp.OR: "||",
}
_CALLED = {
    BinaryOp.FLOORDIV: "ragged_floordiv",
    BinaryOp.MOD: "ragged_mod",
    BinaryOp.MIN: "ragged_min",
    BinaryOp.MAX: "ragged_max",
}
_INT_LIMIT = 1 << 31


@dataclass
class CudaExpressions:
    """Turns expressions of one kernel into text, given the names of its variables, functions and buffers."""

    variables: dict[Var, str] = field(default_factory=dict)
    names: dict[Function | Buffer, str] = field(default_factory=dict)

    def emit(self, expr: Expr) -> str:
        """Return `expr` as an expression of C++ of the same type, in brackets where it is more than a name."""
        match expr:
            case Const(value=value, dtype=dtype):
                return literal(value, dtype)
            case Ref(var=var):
                return self.variables[var]
            case Load(buffer=buffer, indices=indices):
                return f"{self.names[buffer]}[{self.offset(buffer, indices)}]"
            case Call():
                return self._call(expr)
            case Unary(op=op, operand=operand):
                return self._unary(op, self.emit(operand), operand.dtype)
            case Binary(op=op, lhs=lhs, rhs=rhs):
                return self.combine(op, self.emit(lhs), self.emit(rhs), lhs.dtype, rhs)
            case Fma(a=a, b=b, c=c) if a.dtype is DType.BFLOAT16X2:
                return f"ragged_dot({self.emit(a)}, {self.emit(b)}, {self.emit(c)})"
            case Fma(a=a, b=b, c=c, dtype=dtype):
                name = "fmaf" if dtype is DType.FLOAT32 else "fma"
                return f"{name}({self.emit(a)}, {self.emit(b)}, {self.emit(c)})"
            case Select(condition=condition, if_true=if_true, if_false=if_false):
                return f"({self.emit(condition)} ? {self.emit(if_true)} : {self.emit(if_false)})"
            case Cast(dtype=dtype, operand=operand):
                return cast(self.emit(operand), operand.dtype, dtype)
            case _:
                assert_never(expr)

    def offset(self, buffer: Buffer, indices: tuple[Expr, ...]) -> str:
        """Return where in the memory of `buffer` the element at `indices` stands."""
        return self.emit(row_major((indices[d], buffer.shape[d]) for d in buffer.order))

    def combine(self, op: BinaryOp, lhs: str, rhs: str, dtype: DType, by: Expr | None = None) -> str:
        """Return `lhs op rhs` of two operands of `dtype`; `by` is the right one where it is known."""
        if op in (BinaryOp.FLOORDIV, BinaryOp.MOD) and isinstance(by, Const):
            divisor = int(by.value)
            if divisor > 0 and divisor & (divisor - 1) == 0:
                bits = divisor.bit_length() - 1
                return f"({lhs} >> {bits})" if op is BinaryOp.FLOORDIV else f"({lhs} & {divisor - 1})"
        if op is BinaryOp.PAIR:
            return f"ragged_pair({lhs}, {rhs})"
        if op is BinaryOp.DOT:
            return f"ragged_dot({lhs}, {rhs}, 0.0f)"
        if op in _INFIX:
            return f"({lhs} {_INFIX[op]} {rhs})"
        return f"{_CALLED[op]}<{TYPES[dtype]}>({lhs}, {rhs})"

    def _call(self, call: Call) -> str:
        function = call.function
        if function.is_size:
            return cast(self.names[function], DType.INT64, function.dtype)
        if function.body is not None:
            values = {param.var: arg for param, arg in zip(function.params, call.args, strict=True)}
            return self.emit(substitute(function.body, values))
        place = row_major((arg, param.extent) for arg, param in zip(call.args, function.params, strict=True))
        return cast(f"{self.names[function]}[{self.emit(place)}]", function.storage, function.dtype)

    def _unary(self, op: UnaryOp | Elementwise, operand: str, dtype: DType) -> str:
        match op:
            case UnaryOp.NEG:
                return f"(-{operand})"
            case UnaryOp.NOT:
                return f"(!{operand})"
            case UnaryOp.ABS if not dtype.is_float:
                return f"ragged_abs<{TYPES[dtype]}>({operand})"
            case UnaryOp.ABS:
                return f"fabs{_suffix(dtype)}({operand})"
            case Elementwise(cuda=text):
                return text.format(x=operand, f=_suffix(dtype))
            case _:
                assert_never(op)


def literal(value: float | int | bool, dtype: DType) -> str:
    """Return a constant."""
    match dtype:
        case DType.BOOL:
            return "true" if value else "false"
        case DType.INT32 | DType.INT64:
            text = str(int(value)) if abs(int(value)) < _INT_LIMIT else f"{int(value)}LL"
            return text if int(value) >= 0 else f"({text})"
        case DType.FLOAT32 | DType.FLOAT64:
            return _float(dtype.nearest(value), dtype)
        case (
            DType.BFLOAT16X2
            | DType.BFLOAT16
            | DType.FLOAT16
            | DType.INT8
            | DType.INT16
            | DType.UINT8
            | DType.UINT16
            | DType.UINT32
            | DType.UINT64
        ):
            raise InternalError(f"{dtype.value} is no constant on a GPU")
        case _:
            assert_never(dtype)


def _float(value: float, dtype: DType) -> str:
    if not math.isfinite(value):
        text = "NAN" if math.isnan(value) else "INFINITY"
        return f"({'-' if value < 0 else ''}static_cast<{TYPES[dtype]}>({text}))"
    text = repr(value) + ("f" if dtype is DType.FLOAT32 else "")
    return text if math.copysign(1.0, value) > 0 else f"({text})"


def cast(value: str, old: DType, new: DType) -> str:
    """Return `value` of dtype `old` converted to `new`, as C does."""
    return value if old is new else f"static_cast<{TYPES[new]}>({value})"


def row_major(indices: Iterable[tuple[Expr, Expr]]) -> Expr:
    """Return the offset of an element given (index, extent) of each dimension, outermost first."""
    offset: Expr = ZERO
    for index, extent in indices:
        offset = plus(times(offset, extent), index)
    return offset


def _suffix(dtype: DType) -> str:
    match dtype:
        case DType.FLOAT32:
            return "f"
        case DType.FLOAT64:
            return ""
        case _:
            raise InternalError(f"no function of floats is for {np.dtype(dtype.value)}")
