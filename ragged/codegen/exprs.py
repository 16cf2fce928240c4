"""Expressions as TIR."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, assert_never

from ragged.codegen.faults import is_lazy
from ragged.codegen.load_tvm import tirx
from ragged.codegen.ops import (
    MAX,
    MIN,
    TirExpr,
    dot,
    elementary,
    extreme,
    fma,
    library,
    literal,
    multiplied,
    negated,
    pair,
    unequal,
)
from ragged.ir.dtype import INDEX, DType
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
from ragged.ir.walk import subexpressions, variables

TirBuffer = Any
"""A tirx buffer, flat."""

# Min and Max are of integers: of floats see `extreme`.
_NODES = {
    BinaryOp.ADD: tirx.Add,
    BinaryOp.SUB: tirx.Sub,
    BinaryOp.MUL: tirx.Mul,
    BinaryOp.DIV: tirx.Div,
    BinaryOp.FLOORDIV: tirx.FloorDiv,
    BinaryOp.MOD: tirx.FloorMod,
    BinaryOp.MIN: tirx.Min,
    BinaryOp.MAX: tirx.Max,
    BinaryOp.EQ: tirx.EQ,
    BinaryOp.NE: tirx.NE,
    BinaryOp.LT: tirx.LT,
    BinaryOp.LE: tirx.LE,
    BinaryOp.GT: tirx.GT,
    BinaryOp.GE: tirx.GE,
    BinaryOp.AND: tirx.And,
    BinaryOp.OR: tirx.Or,
}


@dataclass
class Expressions:
    """Turns expressions of one stage into TIR, given what stands for its variables, sizes, arrays and buffers."""

    variables: dict[Var, TirExpr] = field(default_factory=dict)
    sizes: dict[Function, TirExpr] = field(default_factory=dict)
    storage: dict[Function | Buffer, TirBuffer] = field(default_factory=dict)
    _indices: dict[tuple[int, ...], tuple[Expr, list[TirExpr], TirExpr]] = field(default_factory=dict)

    def emit(self, expr: Expr) -> TirExpr:
        """Return `expr` as a TIR expression of the same dtype."""
        match expr:
            case Const(value=value, dtype=dtype):
                return literal(value, dtype)
            case Ref(var=var):
                return self.variables[var]
            case Load(buffer=buffer):
                element = self.element(expr)
                return tirx.Cast("bool", element) if buffer.dtype is DType.BOOL else element
            case Call(function=function, args=args):
                return self._call(function, args)
            case Unary(op=op, operand=operand):
                return self._unary(op, self.emit(operand), operand.dtype)
            case Binary(dtype=dtype) if dtype is INDEX:
                return self._index(expr)
            case Binary():
                return self._binary(expr)
            case Fma(a=a, b=b, c=c) if a.dtype is DType.BFLOAT16X2:
                return dot(self.emit(a), self.emit(b), self.emit(c))
            case Fma(a=a, b=b, c=c):
                return fma(self.emit(a), self.emit(b), self.emit(c), c.dtype)
            case Select(condition=condition, if_true=if_true, if_false=if_false):
                choose = tirx.if_then_else if is_lazy(expr) else tirx.Select
                return choose(self.emit(condition), self.emit(if_true), self.emit(if_false))
            case Cast(dtype=dtype, operand=operand):
                return cast(self.emit(operand), operand.dtype, dtype)
            case _:
                assert_never(expr)

    def element(self, load: Load) -> TirExpr:
        """Return the element that `load` reads, as it is in memory."""
        return tirx.BufferLoad(self.storage[load.buffer], [self.offset(load.buffer, load.indices)])

    def _index(self, expr: Binary) -> TirExpr:
        """Return an index: the node made before for the same values of its variables, as in most unrolled copies."""
        values = [self.variables[var] for var in variables(expr)]
        key = (id(expr), *map(id, values))
        if key not in self._indices:
            emitted = self._binary(expr)
            if any(isinstance(part, Load) for part in subexpressions(expr)):
                return emitted  # a local buffer is another one in each copy
            self._indices[key] = expr, values, emitted  # all kept: what the ids are of has to live
        return self._indices[key][2]

    def offset(self, buffer: Buffer, indices: tuple[Expr, ...]) -> TirExpr:
        """Return where in the flat storage of `buffer` the element at `indices` stands."""
        ordered = ((self.emit(indices[d]), self.emit(buffer.shape[d])) for d in buffer.order)
        return row_major(ordered)

    def combine(self, op: BinaryOp, lhs: TirExpr, rhs: TirExpr, dtype: DType) -> TirExpr:
        """Return `lhs op rhs` of two operands of `dtype`, both evaluated."""
        if op is BinaryOp.DOT:
            return dot(lhs, rhs, literal(0.0, DType.FLOAT32))
        if op is BinaryOp.PAIR:
            return pair(lhs, rhs)
        if dtype.is_float:
            if op is BinaryOp.MUL:
                return multiplied(lhs, rhs, dtype)
            if op in (BinaryOp.MAX, BinaryOp.MIN):
                return extreme(MAX if op is BinaryOp.MAX else MIN, lhs, rhs, dtype)
            if op is BinaryOp.NE:
                return unequal(lhs, rhs)
        elif op is BinaryOp.ADD:
            return add(lhs, rhs)
        elif op is BinaryOp.MUL:
            return mul(lhs, rhs)
        elif op in (BinaryOp.FLOORDIV, BinaryOp.MOD) and _is_zero(rhs):  # which TVM would refuse to fold
            return rhs if op is BinaryOp.FLOORDIV else lhs
        return _NODES[op](lhs, rhs)

    def _call(self, function: Function, args: tuple[Expr, ...]) -> TirExpr:
        if function.is_size:
            return cast(self.sizes[function], INDEX, function.dtype)
        if function.body is not None:
            return self._inlined(function, function.body, args)
        indices = zip(args, function.params, strict=True)
        offset = row_major((self.emit(arg), self.emit(param.extent)) for arg, param in indices)
        return cast(tirx.BufferLoad(self.storage[function], [offset]), function.storage, function.dtype)

    def _inlined(self, function: Function, body: Expr, args: tuple[Expr, ...]) -> TirExpr:
        """Return a function's body at `args`. LLVM sees to it that each argument is computed once."""
        values = [self.emit(arg) for arg in args]
        self.variables.update(zip((param.var for param in function.params), values, strict=True))
        return self.emit(body)

    def _unary(self, op: UnaryOp | Elementwise, operand: TirExpr, dtype: DType) -> TirExpr:
        match op:
            case UnaryOp.NEG:
                return negated(operand, dtype)
            case UnaryOp.NOT:
                return tirx.Not(operand)
            case UnaryOp.ABS if not dtype.is_float:
                return tirx.Max(operand, negated(operand, dtype))
            case UnaryOp.ABS:
                return library("fabs", operand, dtype)
            case Elementwise():
                return elementary(op, operand, dtype)
            case _:
                assert_never(op)

    def _binary(self, expr: Binary) -> TirExpr:
        lhs, rhs = self.emit(expr.lhs), self.emit(expr.rhs)
        if is_lazy(expr):
            absent = literal(expr.op is BinaryOp.OR, DType.BOOL)
            return tirx.if_then_else(lhs, *((absent, rhs) if expr.op is BinaryOp.OR else (rhs, absent)))
        return self.combine(expr.op, lhs, rhs, expr.lhs.dtype)


def cast(value: TirExpr, old: DType, new: DType) -> TirExpr:
    """Return `value` of dtype `old` converted to `new`, as C does."""
    return value if old is new else tirx.Cast(new.value, value)


def row_major(indices: Iterable[tuple[TirExpr, TirExpr]]) -> TirExpr:
    """Return the offset of an element given (index, extent) of each dimension, outermost first."""
    offset: TirExpr = literal(0, INDEX)
    for index, extent in indices:
        offset = add(mul(offset, extent), index)
    return offset


def product(extents: Iterable[TirExpr]) -> TirExpr:
    """Return the product of `extents`, 1 of none."""
    result: TirExpr = literal(1, INDEX)
    for extent in extents:
        result = mul(result, extent)
    return result


def add(a: TirExpr, b: TirExpr) -> TirExpr:
    """Return `a + b` of integers, simplified where one is zero or both are literals."""
    match _number(a), _number(b):
        case (0, _):
            return b
        case (_, 0):
            return a
        case (int() as x, int() as y):
            return tirx.IntImm(a.ty, x + y)
        case _:
            return tirx.Add(a, b)


def mul(a: TirExpr, b: TirExpr) -> TirExpr:
    """Return `a * b` of integers, simplified where one is zero or one or both are literals."""
    match _number(a), _number(b):
        case (0, _) | (_, 1):
            return a
        case (1, _) | (_, 0):
            return b
        case (int() as x, int() as y):
            return tirx.IntImm(a.ty, x * y)
        case _:
            return tirx.Mul(a, b)


def _is_zero(value: TirExpr) -> bool:
    return _number(value.value if isinstance(value, tirx.Broadcast) else value) == 0


def _number(value: TirExpr) -> int | None:
    return int(value.value) if type(value) is tirx.IntImm else None
