"""What has to hold where an expression is evaluated: indices are inside of what they index, divisors are not zero.

The arithmetic of indices stays within 64 bits as well: proofs compute with integers of any size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from ragged.arith.intervals import Interval, binary, converted, hull, meet, unary
from ragged.ir.build import both, within
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Call, Cast, Const, Expr, Load, Ref, Select, Source, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.rewrite import substitute
from ragged.ir.sites import evaluated
from ragged.ir.walk import subexpressions


@dataclass(frozen=True, slots=True)
class IndexObligation:
    """An obligation: where `path` holds, `index` lies in `[0, extent)` of dimension `position` of `what`."""

    what: str
    position: int
    index: Expr
    extent: Expr
    path: Expr | None

    @property
    def inside(self) -> Expr:
        """0 <= index < extent."""
        return within(self.index, Const(0), self.extent)

    @property
    def condition(self) -> Expr:
        """The obligation as one expression."""
        return where(self.path, self.inside)

    def is_plain(self, loops: Mapping[Var, Expr]) -> bool:
        """Return whether the index is a literal in range, or a loop's variable under a bound not over the extent."""
        match self.index, self.extent:
            case Const(value=value), Const(value=extent):
                return 0 <= value < extent
            case Ref(var=var), extent if var in loops:
                bound = loops[var]
                if isinstance(bound, Const) and isinstance(extent, Const):
                    return bound.value <= extent.value
                return bound == extent
            case _:
                return False


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
    """An obligation: where `path` holds, the result of `step`, integer arithmetic on data, is below 2 ** 62 in size."""

    step: Expr
    path: Expr | None

    @property
    def result(self) -> Expr:
        """The result in FLOAT64, which does not overflow."""
        return _as_float(self.step)

    @property
    def condition(self) -> Expr:
        """The obligation as one expression."""
        size = Unary(UnaryOp.ABS, self.result)
        return where(self.path, Binary(BinaryOp.LT, size, Const(2.0**62, DType.FLOAT64)))


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
    yield from _arguments(call, path)
    if call.function.body is not None:
        values = {param.var: arg for param, arg in zip(call.function.params, call.args, strict=True)}
        yield from index_obligations(substitute(call.function.body, values), path)


def _arguments(call: Call, path: Expr | None) -> Iterator[IndexObligation]:
    """Yield that a call's arguments lie in the function's domain."""
    values = {param.var: arg for param, arg in zip(call.function.params, call.args, strict=True)}
    extents = tuple(substitute(param.extent, values) for param in call.function.params)
    yield from element(call.function.name, call.args, extents, path)


def reads_of_lengths(expr: Expr, loops: Iterable[tuple[Var, Expr]]) -> Iterator[IndexObligation]:
    """Yield that lengths are read inside of their arrays, but for loops' variables with the array's own extents."""
    extents = dict(loops)
    for inner, path in guarded_parts(expr):
        if isinstance(inner, Call) and inner.function.source in (Source.INPUT, Source.EXPRESSION):
            for needed in _arguments(inner, path):
                bound = extents.get(needed.index.var) if isinstance(needed.index, Ref) else None
                if bound is None or bound != needed.extent:
                    yield needed


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
_SIZE: Interval = (0, 2**31)
"""The values that a variable or a size is taken to have, in the decision whether a check is needed."""


def limits(expr: Expr, path: Expr | None) -> Iterator[Limit]:
    """Yield what keeps the arithmetic of an index, or of a condition around a read, within 64 bits where `path` holds.

    Arithmetic without data or signed numbers is left out, and so is what cannot exceed 64 bits: sums of numbers of 32
    bits.
    """
    if not any(map(_is_step, subexpressions(expr))):
        return
    for inner, way in guarded_parts(expr, path):
        if _is_step(inner) and any(_is_data(part) or _is_number(part) for part in subexpressions(inner)):
            low, high = _span(inner)
            if low < _INDEX[0] or high > _INDEX[1]:
                yield Limit(inner, way)


def _is_step(expr: Expr) -> bool:
    """Return whether an expression is integer arithmetic with a result that may be larger than its operands."""
    match expr:
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MUL) | Unary(op=UnaryOp.NEG | UnaryOp.ABS):
            return expr.dtype.is_int
        case _:
            return False


def _is_data(expr: Expr) -> bool:
    """Return whether an integer is read, or converted from a float."""
    converted = isinstance(expr, Cast) and expr.operand.dtype.is_float
    return expr.dtype.is_int and (isinstance(expr, Load) or converted)


def _is_number(expr: Expr) -> bool:
    """Return whether an expression is a number of either sign that a call gives; such ones have 32 bits here."""
    return isinstance(expr, Call) and expr.function.source is Source.NUMBER


def _as_float(expr: Expr) -> Expr:
    match expr:
        case Const(value=value):
            return Const(float(value), DType.FLOAT64)
        case Binary(op=op, lhs=lhs, rhs=rhs) if _is_step(expr):
            return Binary(op, _as_float(lhs), _as_float(rhs))
        case Unary(op=op, operand=operand) if _is_step(expr):
            return Unary(op, _as_float(operand))
        case _:
            return Cast(DType.FLOAT64, expr)


def _span(expr: Expr) -> Interval:
    """Return an interval of an integer; operands are taken to be within 64 bits."""
    match expr:
        case _ if _is_data(expr):
            return expr.dtype.limits
        case _ if _is_number(expr):
            return DType.INT32.limits
        case Const(value=value):
            return (int(value), int(value))
        case Cast(operand=operand) if not operand.dtype.is_int:
            return (0, 1)  # of a truth value
        case Cast(operand=operand, dtype=dtype):
            return converted(dtype, _span(operand))
        case Unary(op=op, operand=operand):
            return unary(op, _inside(operand))
        case Select(if_true=if_true, if_false=if_false):
            return hull((_inside(if_true), _inside(if_false)))
        case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD as op, lhs=lhs, rhs=rhs):
            low, high = _inside(rhs)
            return meet(_INDEX, binary(op, _inside(lhs), (max(low, 1), high) if low >= 0 else (low, high)))
        case Binary(op=op, lhs=lhs, rhs=rhs):
            return binary(op, _inside(lhs), _inside(rhs))
        case _:
            return _SIZE


def _inside(expr: Expr) -> Interval:
    return meet(_INDEX, _span(expr))
