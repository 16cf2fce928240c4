"""Rules of dtypes: in expressions, declarations and statements."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import assert_never

import numpy as np

from ragged.ir.checks.refusal import refusal
from ragged.ir.dtype import INDEX, DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import Binary, Call, Cast, Const, Expr, Fma, Function, Load, Ref, Select, Unary
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    For,
    If,
    Let,
    Prefetch,
    Reduce,
    Stmt,
    Store,
)
from ragged.ir.walk import held, statements, subexpressions

_NOT_COMPUTED = (DType.BFLOAT16, DType.BFLOAT16X2)
_NOT_REDUCED = {DType.BOOL: "bools", DType.BFLOAT16: "bfloat16", DType.BFLOAT16X2: "pairs"}


def check_declared_types(program: Program) -> None:
    """Domains and shapes are indices; a function is of its body's dtype."""
    for function in program.functions:
        body = () if function.body is None else (function.body,)
        for expr in (*(param.extent for param in function.params), *body):
            for fault in _expr_faults(expr):
                raise refusal(program, function, fault)
        for fault in _function_faults(function):
            raise refusal(program, function, fault)
    for buffer in program.buffers:
        for fault in (
            *chain.from_iterable(map(_expr_faults, buffer.shape)),
            *_index_faults("a shape", *buffer.shape),
        ):
            raise refusal(program, buffer, fault)


def check_types(program: Program) -> None:
    """Operators, indices, conditions and stores are of the dtypes that they must be of."""
    for stmt in (inner for stage in program.stages for inner in statements(stage.body)):
        for expr in held(stmt):
            for fault in _expr_faults(expr):
                raise refusal(program, stmt, fault)
        for fault in _stmt_faults(stmt):
            raise refusal(program, stmt, fault)


def _typed(what: str, dtype: DType, *exprs: Expr) -> Iterator[str]:
    for expr in exprs:
        if expr.dtype is not dtype:
            yield f"{what} must be {dtype.value}: {expr_text(expr)} is {expr.dtype.value}"


def _index_faults(what: str, *exprs: Expr) -> Iterator[str]:
    return _typed(what, INDEX, *exprs)


def _function_faults(function: Function) -> Iterator[str]:
    for param in function.params:
        yield from _index_faults("a parameter", Ref(param.var))
        yield from _index_faults("a domain's extent", param.extent)
    if function.body is not None:
        yield from _typed("the body", function.dtype, function.body)
    elif function.storage.is_float != function.dtype.is_float:
        yield f"{function.dtype.value} cannot be stored as {function.storage.value}"


def _stmt_faults(stmt: Stmt) -> Iterator[str]:
    match stmt:
        case Store(buffer=buffer, indices=indices, value=value):
            yield from _target_faults(stmt)
            yield from _index_faults("an index", *indices)
            yield from _typed(f"what is stored in '{buffer.name}'", buffer.dtype, value)
        case Reduce(buffer=buffer, indices=indices, value=value, init=init):
            yield from _target_faults(stmt)
            yield from _index_faults("an index", *indices)
            yield from _typed(f"what is reduced into '{buffer.name}'", buffer.dtype, value)
            yield from _typed(f"what a reduction into '{buffer.name}' starts from", buffer.dtype, init)
            if buffer.dtype in _NOT_REDUCED:
                yield f"{_NOT_REDUCED[buffer.dtype]} are not reduced"
        case Check(condition=condition) | If(condition=condition):
            yield from _typed("a condition", DType.BOOL, condition)
        case For(var=var, extent=extent):
            yield from _index_faults("a loop's variable", Ref(var))
            yield from _index_faults("a loop's extent", extent)
        case Let(var=var, value=value):
            yield from _typed(f"'{var.name}'", var.dtype, value)
        case Alloc(buffer=buffer):
            yield from _index_faults("a shape", *buffer.shape)
        case Barrier() | Prefetch() | Block():
            return
        case _:
            assert_never(stmt)


def _target_faults(stmt: Store | Reduce) -> Iterator[str]:
    rank = len(stmt.buffer.shape)
    if len(stmt.indices) != rank:
        yield f"'{stmt.buffer.name}' has {rank} dimensions, not {len(stmt.indices)}"


def _expr_faults(expr: Expr) -> Iterator[str]:
    for part in subexpressions(expr):
        fault = _fault(part)
        if fault is not None:
            yield f"{fault}: {expr_text(part)}"


def _fault(expr: Expr) -> str | None:
    """Return what is wrong with an expression, its operands apart."""
    match expr:
        case Const(value=value, dtype=dtype):
            return None if _fits(value, dtype) else f"this is no {dtype.value}"
        case Load(indices=indices) | Call(args=indices):
            return (
                None if all(index.dtype is INDEX for index in indices) else f"an index must be {INDEX.value}"
            )
        case Unary(op=op, operand=operand):
            return None if _takes_one(op, operand.dtype) else f"'{op.value}' is not for {operand.dtype.value}"
        case Binary(op=op, lhs=lhs):
            return None if _takes_two(op, lhs.dtype) else f"'{op.value}' is not for {lhs.dtype.value}"
        case Fma(a=a, b=b, c=c):
            alike = a.dtype is b.dtype is c.dtype and c.dtype.is_float and c.dtype not in _NOT_COMPUTED
            pairs = a.dtype is b.dtype is DType.BFLOAT16X2 and c.dtype is DType.FLOAT32
            return None if alike or pairs else "'fma' is for floats of one dtype"
        case Select(condition=condition, if_true=if_true, if_false=if_false):
            if condition.dtype is not DType.BOOL:
                return f"a condition must be bool, not {condition.dtype.value}"
            return None if if_true.dtype is if_false.dtype else "the branches differ in dtype"
        case Cast(dtype=dtype, operand=operand) if DType.BFLOAT16X2 in (dtype, operand.dtype):
            return "a pair is not cast"
        case Ref() | Cast():
            return None
        case _:
            assert_never(expr)


def _fits(value: int | float | bool, dtype: DType) -> bool:
    if dtype is DType.BOOL or isinstance(value, bool):
        return dtype is DType.BOOL and isinstance(value, bool)
    if dtype.is_float:
        return True
    if dtype is DType.BFLOAT16X2:
        return False
    limits = np.iinfo(dtype.value)
    return isinstance(value, int) and limits.min <= value <= limits.max


def _takes_one(op: UnaryOp | Elementwise, dtype: DType) -> bool:
    match op:
        case _ if dtype in _NOT_COMPUTED:
            return False
        case UnaryOp.NOT:
            return dtype is DType.BOOL
        case UnaryOp.NEG | UnaryOp.ABS:
            return dtype is not DType.BOOL
        case Elementwise():
            return dtype.is_float
        case _:
            assert_never(op)


def _takes_two(op: BinaryOp, dtype: DType) -> bool:
    match op:
        case BinaryOp.PAIR:
            return dtype is DType.FLOAT32
        case BinaryOp.DOT:
            return dtype is DType.BFLOAT16X2
        case _ if dtype in _NOT_COMPUTED:
            return False
        case BinaryOp.AND | BinaryOp.OR:
            return dtype is DType.BOOL
        case BinaryOp.EQ | BinaryOp.NE:
            return True
        case BinaryOp.DIV:
            return dtype.is_float
        case BinaryOp.FLOORDIV | BinaryOp.MOD:
            return dtype.is_int
        case _:
            return dtype is not DType.BOOL
