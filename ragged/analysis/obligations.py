"""What has to hold where an expression is evaluated: indices are inside of what they index, divisors are not zero.

And indices, which proofs compute without an end, do not exceed their 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias, TypeGuard

import numpy as np

from ragged.arith.intervals import Interval, binary, hull, meet, unary
from ragged.ir.build import both, within
from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Binary, Call, Cast, Const, Expr, Load, Select, Unary
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.rewrite import substitute
from ragged.ir.sites import evaluated
from ragged.ir.walk import operands


@dataclass(frozen=True, slots=True)
class IndexObligation:
    """An obligation: where `path` holds, `index` lies in `[0, extent)` of dimension `position` of `what`."""

    what: str
    position: int
    index: Expr
    extent: Expr
    path: Expr | None

    @property
    def condition(self) -> Expr:
        """The obligation as one expression."""
        return where(self.path, within(self.index, Const(0), self.extent))


@dataclass(frozen=True, slots=True)
class Division:
    """An obligation: where `path` holds, what integers are divided by in `expr` is not zero."""

    expr: Binary
    path: Expr | None

    @property
    def divisor(self) -> Expr:
        """What is not zero."""
        return self.expr.rhs

    @property
    def condition(self) -> Expr:
        """The obligation as one expression."""
        return where(self.path, Binary(BinaryOp.NE, self.divisor, Const(0, self.divisor.dtype)))


@dataclass(frozen=True, slots=True)
class Limit:
    """An obligation: where `path` holds, a number that is read stays within `bits`, so that no index exceeds its own.

    The ends are minus and plus 2 to the power of `bits`, without the latter. It is read as an integer, or made of a
    float.
    """

    read: Load | Cast
    bits: int
    path: Expr | None

    @property
    def condition(self) -> Expr:
        """The obligation as one expression."""
        number = self.read if self.read.dtype is INDEX else Cast(INDEX, self.read)
        return where(self.path, within(number, Const(-(2**self.bits)), Const(2**self.bits)))


Obligation: TypeAlias = IndexObligation | Division | Limit


def where(path: Expr | None, goal: Expr) -> Expr:
    """Return that `goal` holds where `path` does."""
    return goal if path is None else Binary(BinaryOp.OR, Unary(UnaryOp.NOT, path), goal)


def obligations(expr: Expr, path: Expr | None = None) -> Iterator[Obligation]:
    """Yield all obligations of evaluating `expr` where `path` holds."""
    yield from index_obligations(expr, path)
    yield from divisions(expr, path)


def index_obligations(expr: Expr, path: Expr | None = None) -> Iterator[IndexObligation]:
    """Yield the obligations of evaluating `expr` where `path` holds, innermost first."""
    for inner, way in guarded_parts(expr, path):
        if isinstance(inner, Load):
            yield from element(inner.buffer.name, inner.indices, inner.buffer.shape, way)
        elif isinstance(inner, Call):
            yield from _call(inner, way)


def guarded_parts(expr: Expr, path: Expr | None = None) -> Iterator[tuple[Expr, Expr | None]]:
    """Yield everything in `expr`, innermost first, with the condition under which it is evaluated."""
    for part, conditions in evaluated(expr):
        yield part, reduce(both, conditions, path)


def element(
    name: str, indices: tuple[Expr, ...], shape: tuple[Expr, ...], path: Expr | None
) -> Iterator[IndexObligation]:
    """Yield the obligations of accessing the element of `name` at `indices`."""
    for position, (index, extent) in enumerate(zip(indices, shape, strict=True)):
        yield IndexObligation(name, position, index, extent, path)


def _call(call: Call, path: Expr | None) -> Iterator[IndexObligation]:
    """Yield what keeps a call in its domain, and, for an expression, what its body accesses."""
    values = {param.var: arg for param, arg in zip(call.function.params, call.args, strict=True)}
    extents = tuple(substitute(param.extent, values) for param in call.function.params)
    yield from element(call.function.name, call.args, extents, path)
    if call.function.body is not None:
        yield from index_obligations(substitute(call.function.body, values), path)


def divisions(expr: Expr, path: Expr | None = None) -> Iterator[Division]:
    """Yield the divisions of integers in `expr`, and in functions that it calls, but those by a number other than 0."""
    for inner, way in guarded_parts(expr, path):
        match inner:
            case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD, rhs=Const(value=value)) if value != 0:
                pass
            case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD):
                yield Division(inner, way)
            case Call(function=function, args=args) if function.body is not None:
                values = {param.var: arg for param, arg in zip(function.params, args, strict=True)}
                yield from divisions(substitute(function.body, values), way)
            case _:
                pass


_INDEX: Interval = (-(2**63), 2**63 - 1)
_SIZE: Interval = (0, 2)
"""What is taken for the value of a variable or a size: it may exceed what is read by something, and a product of sizes,
which memory has room for, times a number of 32 bits exceeds nothing."""
_LIMITS = (31, 20, 15, 7)


def limits(expr: Expr, path: Expr | None = None) -> Iterator[Limit]:
    """Yield limits of the numbers that are read, and of which indices and conditions around reads are computed.

    Numbers of 32 bits exceed no 64 in a sum or a product of two; those of 64 may in a sum with 1.
    """
    for inner, way in guarded_parts(expr, path):
        if isinstance(inner, Load):
            for index in inner.indices:
                yield from _limits(index, way)
            if way is not None:
                yield from _limits(way, None)


def _limits(expr: Expr, path: Expr | None) -> Iterator[Limit]:
    for inner, way in guarded_parts(expr, path):
        if not inner.dtype.is_int or _fits(inner, None):
            continue
        bits = next((each for each in _LIMITS if _fits(inner, each)), _LIMITS[0])
        for each in _terms(inner):
            if _is_read(each) and not (each.dtype.bytes <= 4 and bits == _LIMITS[0]):
                yield Limit(each, bits, way)


def _terms(expr: Expr) -> Iterator[Expr]:
    """Yield what an integer is computed of, but not the indices of what it reads."""
    yield expr
    if not isinstance(expr, Load | Call):
        for part in operands(expr):
            yield from _terms(part)


def _is_read(expr: Expr) -> TypeGuard[Load | Cast]:
    """Return whether an integer is read, or made of a float."""
    made = isinstance(expr, Cast) and expr.operand.dtype.is_float
    return expr.dtype.is_int and (isinstance(expr, Load) or made)


def _range(dtype: DType) -> Interval:
    """Return the least and the largest number of a type of integers, as programs compute with them."""
    info = np.iinfo((INDEX if dtype is DType.UINT64 else dtype).value)
    return (int(info.min), int(info.max))


def _fits(expr: Expr, bits: int | None) -> bool:
    """Return whether no step of an integer's arithmetic exceeds 64 bits where what is read has so many."""
    return all(
        _INDEX[0] <= low and high <= _INDEX[1]
        for low, high in (_span(each, bits) for each in _terms(expr) if each.dtype.is_int)
    )


def _span(expr: Expr, bits: int | None) -> Interval:
    match expr:
        case _ if _is_read(expr):
            own = _range(expr.dtype)
            return own if bits is None else meet(own, (-(2**bits), 2**bits - 1))
        case Const(value=value):
            return (int(value), int(value))
        case Cast(operand=operand) if not operand.dtype.is_int:
            return (0, 1)  # of a truth value
        case Cast(operand=operand, dtype=dtype):
            inner, own = _span(operand, bits), _range(dtype)
            return inner if meet(inner, own) == inner else own
        case Unary(op=op, operand=operand):
            return unary(op, _span(operand, bits))
        case Select(if_true=if_true, if_false=if_false):
            return hull((_span(if_true, bits), _span(if_false, bits)))
        case Binary(op=op, lhs=lhs, rhs=rhs):
            return binary(op, _span(lhs, bits), _span(rhs, bits))
        case _:
            return _SIZE
