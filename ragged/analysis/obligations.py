"""What has to hold where an expression is evaluated: indices are inside of what they index, divisors are not zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from ragged.ir.build import both, within
from ragged.ir.expr import Binary, Call, Const, Expr, Load, Unary
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.rewrite import substitute
from ragged.ir.sites import evaluated


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


Obligation: TypeAlias = IndexObligation | Division


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
