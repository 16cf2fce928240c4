"""Derivatives of an expression by the elements that it reads, in reverse: the adjoint of each read.

What an adjoint is multiplied by is evaluated only where the condition of its read holds, so that it is in bounds where
the expression was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ragged.api import functions
from ragged.api.values import Value, converted, lift
from ragged.ir.build import both
from ragged.ir.dtype import DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import Binary, Cast, Const, Expr, Fma, Load, Select, Unary
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import loads, variables


def partials(
    expr: Expr, adjoint: Expr, wanted: Callable[[Load], bool], stored: Expr | None = None
) -> dict[Load, Expr]:
    """Return the adjoint of each read of a float that is `wanted`, for the adjoint of a float expression.

    Of `min(a, b)` and `max(a, b)` the first of two equal operands is the result, and a number counts as the first one:
    so the derivative of `fmax(x, 0)` depends on its value alone, and is 0 at 0. `floor` and `ceil` have the derivative
    0; integers and conditions have none. `stored` is a read of the expression's value, where there is one.
    """
    found = _Partials(wanted, {} if stored is None else {expr: stored})
    found.visit(expr, adjoint, None)
    return found.adjoints


def product(lhs: Expr, rhs: Expr) -> Expr:
    """Return the product of two floats; 1 and 0 are folded."""
    for one, other in ((lhs, rhs), (rhs, lhs)):
        if isinstance(one, Const) and one.value in (0, 1):
            return other if one.value else one
    return Binary(BinaryOp.MUL, lhs, rhs)


def total(lhs: Expr | None, rhs: Expr) -> Expr:
    """Return the sum of two floats, the first of which may be missing."""
    if lhs is None:
        return rhs
    return product(Const(2.0, rhs.dtype), rhs) if lhs == rhs else Binary(BinaryOp.ADD, lhs, rhs)


def where(condition: Expr | None, value: Expr) -> Expr:
    """Return a value, and 0 where the condition does not hold."""
    match value:
        case _ if condition is None:
            return value
        case Select(condition=inner, if_true=if_true, if_false=Const(value=0)):
            return Select(both(condition, inner), if_true, Const(0.0, value.dtype))
        case _:
            return Select(condition, value, Const(0.0, value.dtype))


def negated(condition: Expr) -> Expr:
    """Return that a condition does not hold."""
    return Unary(UnaryOp.NOT, condition)


class _Partials:
    def __init__(self, wanted: Callable[[Load], bool], stored: Mapping[Expr, Expr]) -> None:
        self.wanted = wanted
        self.stored = stored
        self.adjoints: dict[Load, Expr] = {}

    def visit(self, expr: Expr, adjoint: Expr, path: Expr | None) -> None:
        """Note the adjoints of the reads in an expression that is evaluated where `path` holds."""
        reads = loads(expr)
        if not expr.dtype.is_float or not any(map(self.wanted, reads)):
            return
        if isinstance(adjoint, Const) and adjoint.value == 0:
            return
        own = self.stored.get(expr, expr)
        match expr:
            case Load():
                if self.wanted(expr):
                    self.adjoints[expr] = total(self.adjoints.get(expr), where(path, adjoint))
            case Unary(op=UnaryOp.NEG, operand=x):
                self.visit(x, _negative(adjoint), path)
            case Unary(op=UnaryOp.ABS, operand=x):
                below = Binary(BinaryOp.LT, x, Const(0.0, x.dtype))
                self.visit(x, Select(below, _negative(adjoint), adjoint), path)
            case Unary(
                op=Elementwise(name="exp"),
                operand=Binary(
                    op=BinaryOp.MUL, lhs=y, rhs=Unary(op=Elementwise(name="log"), operand=x) as logarithm
                ),
            ):
                zero = Binary(BinaryOp.EQ, x, Const(0.0, x.dtype))
                slope_x = Select(zero, _slope_at_zero(x, y), Binary(BinaryOp.DIV, own, x))
                self.visit(x, product(adjoint, product(y, slope_x)), path)
                slope_y = Select(zero, Const(0.0, x.dtype), product(own, logarithm))
                self.visit(y, product(adjoint, slope_y), path)
            case Unary(op=Elementwise() as row, operand=x):
                slope = converted(lift(row.derivative(functions, Value(x), Value(own))), x.dtype)
                self.visit(x, product(adjoint, slope.expr), path)
            case Fma(a=a, b=b, c=c):
                self.visit(Binary(BinaryOp.ADD, Binary(BinaryOp.MUL, a, b), c), adjoint, path)
            case (
                Binary(op=BinaryOp.MIN | BinaryOp.MAX as op, lhs=Const() as number, rhs=x)
                | Binary(op=BinaryOp.MIN | BinaryOp.MAX as op, lhs=x, rhs=Const() as number)
            ):
                beyond = Binary(
                    BinaryOp.GT if op is BinaryOp.MAX else BinaryOp.LT, self.stored.get(expr, x), number
                )
                self.visit(x, adjoint, both(path, beyond))
            case Binary(op=op, lhs=lhs, rhs=rhs):
                self.operands(op, lhs, rhs, adjoint, path)
            case Select(condition=condition, if_true=if_true, if_false=if_false):
                self.visit(if_true, adjoint, both(path, condition))
                self.visit(if_false, adjoint, both(path, negated(condition)))
            case Cast(operand=x):
                self.visit(x, _as(adjoint, x.dtype.computed), path)
            case _:
                raise AssertionError(expr)

    def operands(self, op: BinaryOp, x: Expr, y: Expr, adjoint: Expr, path: Expr | None) -> None:
        match op:
            case BinaryOp.ADD:
                self.visit(x, adjoint, path)
                self.visit(y, adjoint, path)
            case BinaryOp.SUB:
                self.visit(x, adjoint, path)
                self.visit(y, _negative(adjoint), path)
            case BinaryOp.MUL:
                self.visit(x, product(adjoint, y), path)
                self.visit(y, product(adjoint, x), path)
            case BinaryOp.DIV:
                divide = _times_reciprocal if variables(x) - variables(y) else partial(Binary, op)
                self.visit(x, divide(adjoint, y), path)
                self.visit(y, _negative(product(adjoint, divide(divide(x, y), y))), path)
            case BinaryOp.MIN | BinaryOp.MAX:
                first = Binary(BinaryOp.GE if op is BinaryOp.MAX else BinaryOp.LE, x, y)
                self.visit(x, adjoint, both(path, first))
                self.visit(y, adjoint, both(path, negated(first)))
            case _:
                raise AssertionError(op)


def _slope_at_zero(x: Expr, y: Expr) -> Expr:
    """Return the derivative of x to the power of y by x, divided by y, where x is 0."""
    one, infinite = Const(1.0, x.dtype), Binary(BinaryOp.DIV, Const(1.0, x.dtype), x)
    if isinstance(y, Const):
        return Const(0.0, x.dtype) if y.value > 1 else infinite if y.value < 1 else one
    below = Select(Binary(BinaryOp.LT, y, one), infinite, one)
    return Select(Binary(BinaryOp.LT, one, y), Const(0.0, x.dtype), below)


def _times_reciprocal(value: Expr, divisor: Expr) -> Expr:
    """Return a value times a reciprocal, which is computed once where several values have the same divisor."""
    return product(value, Binary(BinaryOp.DIV, Const(1.0, divisor.dtype), divisor))


def _negative(value: Expr) -> Expr:
    match value:
        case Unary(op=UnaryOp.NEG, operand=operand):
            return operand
        case _:
            return Unary(UnaryOp.NEG, value)


def _as(value: Expr, dtype: DType) -> Expr:
    return value if value.dtype is dtype else Cast(dtype, value)
