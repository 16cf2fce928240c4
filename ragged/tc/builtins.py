"""The functions of numbers that texts may call, as expressions of the IR."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ragged.ir import expr as ir
from ragged.ir.build import both
from ragged.ir.elementwise import FUNCTIONS
from ragged.ir.expr import Expr
from ragged.ir.ops import BinaryOp, UnaryOp


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of so many floats of one type; `min` and `max` keep the type of integers."""

    arity: int
    build: Callable[..., Expr]
    of_floats: bool = True


def builtin(name: str) -> Builtin | None:
    """Return the function of that name, or of that name with C's suffix `f`; None if there is none."""
    return _BUILTINS.get(name) or _BUILTINS.get(name[:-1] if name.endswith("f") else name)


def _number(x: Expr, value: float) -> Expr:
    return ir.Const(value, x.dtype)


def _join(op: BinaryOp) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: ir.Binary(op, x, y)


_add, _sub, _mul, _div = map(_join, (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV))
_lt, _eq, _min, _max = map(_join, (BinaryOp.LT, BinaryOp.EQ, BinaryOp.MIN, BinaryOp.MAX))


def _unary(name: str) -> Callable[[Expr], Expr]:
    return lambda x: ir.Unary(FUNCTIONS[name], x)


_exp, _log, _floor, _ceil = map(_unary, ("exp", "log", "floor", "ceil"))


def _abs(x: Expr) -> Expr:
    return ir.Unary(UnaryOp.ABS, x)


def _neg(x: Expr) -> Expr:
    return ir.Unary(UnaryOp.NEG, x)


def _sqrt(x: Expr) -> Expr:
    return ir.Unary(FUNCTIONS["sqrt"], x)


def _scaled(scale: float, function: Callable[[Expr], Expr]) -> Callable[[Expr], Expr]:
    return lambda x: _mul(_number(x, scale), function(x))


def _expm1(x: Expr) -> Expr:
    """Return tanh(x / 2) * (exp(x) + 1), which loses no digits near 0; beyond 20 it is exp(x) - 1."""
    near = _mul(ir.Unary(FUNCTIONS["tanh"], _mul(x, _number(x, 0.5))), _add(_exp(x), _number(x, 1.0)))
    return ir.Select(_lt(x, _number(x, 20.0)), near, _sub(_exp(x), _number(x, 1.0)))


def _sinh(x: Expr) -> Expr:
    """Return 2 * sinh(x / 2) * cosh(x / 2): exp(x) overflows before sinh does, and cancels near 0."""
    half = _mul(x, _number(x, 0.5))
    up, down = _expm1(half), _expm1(_neg(half))
    mean = _mul(_number(x, 0.5), _add(up, down))
    return _mul(_sub(up, down), _add(mean, _number(x, 1.0)))


def _cosh(x: Expr) -> Expr:
    """Return the mean of exp(x) and exp(-x), each as a square: exp(x) overflows before cosh does."""
    half = _mul(x, _number(x, 0.5))
    up, down = _exp(half), _exp(_neg(half))
    return _add(*(_mul(_mul(_number(x, 0.5), each), each) for each in (up, down)))


def _hypot(x: Expr, y: Expr) -> Expr:
    """Return the root of the sum of squares, of quotients by the larger one: squares overflow before it does."""
    a, b = _abs(x), _abs(y)
    first = ir.Binary(BinaryOp.GE, a, b)
    larger, smaller = ir.Select(first, a, b), ir.Select(first, b, a)
    quotient = _div(smaller, larger)
    root = _mul(larger, _sqrt(_add(_mul(quotient, quotient), _number(x, 1.0))))
    # of two zeros and of two infinities the quotient is no number
    return ir.Select(_eq(quotient, quotient), root, _add(a, b))


def _trunc(x: Expr) -> Expr:
    return ir.Select(_lt(x, _number(x, 0.0)), _ceil(x), _floor(x))


def _round(x: Expr) -> Expr:
    """Return the nearest integer, halves away from zero; `floor(abs(x) + 0.5)` would round the sum first."""
    size, below = _abs(x), _floor(_abs(x))
    half = ir.Binary(BinaryOp.GE, _sub(size, below), _number(x, 0.5))
    away = ir.Select(half, _add(below, _number(x, 1.0)), below)
    return ir.Select(_lt(x, _number(x, 0.0)), _neg(away), away)


def _fmod(x: Expr, y: Expr) -> Expr:
    """Return the remainder of C, exact where the quotient has at most twice the digits of its type."""
    left, divisor = _abs(x), _abs(y)
    for _ in range(2):  # what the rounded quotient leaves of a large one is divided again
        left = ir.Fma(_neg(_floor(_div(left, divisor))), divisor, left)
    left = ir.Select(_lt(left, _number(x, 0.0)), _add(left, divisor), left)
    left = ir.Select(_lt(left, divisor), left, _sub(left, divisor))
    signed = ir.Select(_lt(x, _number(x, 0.0)), _neg(left), left)
    return ir.Select(_lt(_abs(x), divisor), x, signed)


def _pow(x: Expr, y: Expr) -> Expr:
    """Return x to the power of y, of a negative x too where y is an integer."""
    if isinstance(y, ir.Const) and y.value == int(y.value) and abs(y.value) <= 16:
        return _power(x, int(y.value))
    zero, logarithm = _number(x, 0.0), _log(_abs(x))
    size = _exp(_mul(y, logarithm))
    half = _mul(y, _number(y, 0.5))
    odd = ir.Binary(BinaryOp.NE, _floor(half), half)
    negative = ir.Select(
        _eq(_floor(y), y), ir.Select(odd, _neg(size), size), _div(_sub(x, x), zero)
    )  # not a number, as C has it, nor is its derivative
    value = ir.Select(_lt(x, zero), negative, size)
    # To the power of 0 anything is 1. Where the logarithm is finite, so is `value`, which has the derivative by y. A
    # comparison that is negated would be `!=`, which TVM's vectors answer otherwise for NaN.
    finite = ir.Select(_eq(_mul(logarithm, zero), zero), _number(x, 1.0), zero)
    return ir.Select(both(_eq(y, zero), _eq(finite, zero)), _number(x, 1.0), value)


def _power(x: Expr, y: int) -> Expr:
    if y < 0:
        return _div(_number(x, 1.0), _power(x, -y))
    if y <= 1:
        return x if y else ir.Select(_eq(x, x), _number(x, 1.0), _number(x, 1.0))
    half = _power(x, y // 2)
    return _mul(_mul(half, half), x) if y % 2 else _mul(half, half)


_BUILTINS: dict[str, Builtin] = {
    **{name: Builtin(1, _unary(name)) for name in FUNCTIONS},
    "relu": Builtin(1, lambda x: _max(_number(x, 0.0), x)),
    "fabs": Builtin(1, _abs),
    "fmax": Builtin(2, _max),
    "fmin": Builtin(2, _min),
    "fma": Builtin(3, lambda x, y, z: ir.Fma(x, y, z)),
    "min": Builtin(2, _min, of_floats=False),
    "max": Builtin(2, _max, of_floats=False),
    "abs": Builtin(1, _abs, of_floats=False),
    "pow": Builtin(2, _pow),
    "expm1": Builtin(1, _expm1),
    "log2": Builtin(1, _scaled(1 / math.log(2.0), _log)),
    "log10": Builtin(1, _scaled(1 / math.log(10.0), _log)),
    "tan": Builtin(1, lambda x: _div(_unary("sin")(x), _unary("cos")(x))),
    "sinh": Builtin(1, _sinh),
    "cosh": Builtin(1, _cosh),
    "hypot": Builtin(2, _hypot),
    "trunc": Builtin(1, _trunc),
    "round": Builtin(1, _round),
    "fmod": Builtin(2, _fmod),
    "fdim": Builtin(2, lambda x, y: _max(_sub(x, y), _number(x, 0.0))),
}
