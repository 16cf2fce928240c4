"""Elementary functions as arithmetic: the same operations, so the same bits, in vectors, remainders and scalars.

For float32 they are written out in correctly rounded operations and hold to 1e-6 of the value wherever it is a
normal number; a call into the C library would be slower by an order of magnitude in vectors. For float64 they are
the C library's.

The order of rounding is part of a program (DESIGN, section 3), but TVM tells LLVM to contract `a * b + c` into a
fused multiply-add wherever it likes, and there is no setting against it. So a product is written
`fma(a, b, -0.0)`, which is the rounded product exactly and cannot be contracted, with a -0.0 that LLVM is kept
from seeing through.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tvm import tirx

from ragged.errors import InternalError
from ragged.ir.dtype import DType
from ragged.ir.ops import UnaryOp

TirExpr = Any
"""A tirx expression; TVM has no types for a type checker."""

_LOG2_E = 1.44269504088896341
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4  # their sum is ln 2; n * _LN2_HIGH is exact for |n| < 2 ** 15
_EXP_LOWEST, _EXP_HIGHEST = -104.0, 89.0  # beyond them exp is 0 and inf in float32
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
"""Of Cephes' expf: exp(r) = 1 + r + r * r * p(r) for |r| <= ln(2) / 2."""

_TANH_ONE = 7.99881172180175781  # tanh rounds to 1 beyond
_TANH_SMALL = 0.0004  # tanh(x) rounds to x below
_TANH_NUMERATOR = (
    -2.76076847742355e-16,
    2.00018790482477e-13,
    -8.60467152213735e-11,
    5.12229709037114e-08,
    1.48572235717979e-05,
    6.37261928875436e-04,
    4.89352455891786e-03,
)
_TANH_DENOMINATOR = (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
"""tanh(x) = x * p(x * x) / q(x * x): the approximation of degree 13 over 6 that Eigen and XLA use."""


def literal(value: float | int | bool, dtype: DType) -> TirExpr:
    """Return a constant."""
    if dtype.is_float:
        return tirx.FloatImm(dtype.value, float(value))
    return tirx.IntImm(dtype.value, int(value))


def fma(a: TirExpr, b: TirExpr, c: TirExpr, dtype: DType) -> TirExpr:
    """Return `a * b + c`, rounded once."""
    return tirx.call_llvm_pure_intrin(dtype.value, "llvm.fma", a, b, c)


@dataclass
class Maths:
    """Builds floating-point arithmetic that LLVM leaves as it is; one for each function that is generated.

    `bindings` are to stand before whatever was built: the -0.0 that products are written with.
    """

    zeros: dict[DType, TirExpr] = field(default_factory=dict)

    def bindings(self) -> list[Any]:
        """Return the statements that the built expressions rely on."""
        return [
            tirx.Bind(var, tirx.call_llvm_pure_intrin(dtype.value, "llvm.arithmetic.fence", literal(-0.0, dtype)))
            for dtype, var in self.zeros.items()
        ]

    def mul(self, a: TirExpr, b: TirExpr, dtype: DType) -> TirExpr:
        """Return `a * b`, rounded by itself whatever it is added to."""
        if dtype not in self.zeros:
            self.zeros[dtype] = tirx.Var(f"minus_zero_{dtype.value}", dtype.value)
        return fma(a, b, self.zeros[dtype], dtype)

    def unary(self, op: UnaryOp, x: TirExpr, dtype: DType) -> TirExpr:
        """Return `op` of a float."""
        match op:
            case UnaryOp.SQRT:
                return tirx.sqrt(x)
            case UnaryOp.ABS:
                return tirx.call_llvm_pure_intrin(dtype.value, "llvm.fabs", x)
            case UnaryOp.LOG:
                return _library("log", x, dtype)
            case UnaryOp.EXP:
                return self.exp(x, dtype)
            case UnaryOp.TANH:
                return self.tanh(x, dtype)
            case UnaryOp.SIGMOID:
                return self.sigmoid(x, dtype)
            case _:
                raise InternalError(f"'{op.value}' is not a function of floats")

    def sigmoid(self, x: TirExpr, dtype: DType) -> TirExpr:
        """Return `1 / (1 + exp(-x))`, which is 0 and 1 at the infinities."""
        one = literal(1.0, dtype)
        return tirx.Div(one, tirx.Add(one, self.exp(negated(x, dtype), dtype)))

    def exp(self, x: TirExpr, dtype: DType) -> TirExpr:
        """Return e to the power of `x`: 2 ** n * exp(r) with x = n * ln 2 + r."""
        if dtype is not DType.FLOAT32:
            return _library("exp", x, dtype)
        return let(x, "x", lambda x: let(_clamped(x, _EXP_LOWEST, _EXP_HIGHEST), "clamped", self._exp))

    def _exp(self, x: TirExpr) -> TirExpr:
        def scaled(n: TirExpr) -> TirExpr:
            r = _fma(n, _f32(-_LN2_LOW), _fma(n, _f32(-_LN2_HIGH), x))
            return let(r, "r", lambda r: let(tirx.Cast("int32", n), "power", lambda power: self._scale(power, r)))

        rounded = tirx.call_llvm_pure_intrin("float32", "llvm.rint", self._mul(x, _f32(_LOG2_E)))
        return let(rounded, "n", scaled)

    def _scale(self, power: TirExpr, r: TirExpr) -> TirExpr:
        """Return 2 ** power * exp(r), in two steps so that it neither overflows early nor loses small results."""
        value = _fma(_horner(_EXP, r), self._mul(r, r), tirx.Add(r, _f32(1.0)))
        half = tirx.shift_right(power, tirx.IntImm("int32", 1))
        return let(half, "half", lambda half: self._mul(self._mul(value, _power_of_two(half)), _power_of_two(tirx.Sub(power, half))))

    def tanh(self, x: TirExpr, dtype: DType) -> TirExpr:
        """Return the hyperbolic tangent of `x`."""
        if dtype is not DType.FLOAT32:
            return _library("tanh", x, dtype)

        def rational(x: TirExpr) -> TirExpr:
            return let(
                self._mul(x, x),
                "square",
                lambda s: tirx.Div(self._mul(x, _horner(_TANH_NUMERATOR, s)), _horner(_TANH_DENOMINATOR, s)),
            )

        def whole(x: TirExpr) -> TirExpr:
            small = tirx.LT(tirx.call_llvm_pure_intrin("float32", "llvm.fabs", x), _f32(_TANH_SMALL))
            return tirx.Select(small, x, let(_clamped(x, -_TANH_ONE, _TANH_ONE), "clamped", rational))

        return let(x, "x", whole)

    def _mul(self, a: TirExpr, b: TirExpr) -> TirExpr:
        return self.mul(a, b, DType.FLOAT32)


def let(value: TirExpr, name: str, body: Callable[[TirExpr], TirExpr]) -> TirExpr:
    """Return `body(value)` with `value` evaluated once."""
    var = tirx.Var(name, value.ty)
    return tirx.Let(var, value, body(var))


def negated(x: TirExpr, dtype: DType) -> TirExpr:
    """Return `-x`; of a zero, the other zero."""
    return tirx.Sub(literal(-0.0 if dtype.is_float else 0, dtype), x)


def maximum(a: TirExpr, b: TirExpr) -> TirExpr:
    """Return the larger of two floats, NaN if either is, as NumPy does."""
    return let(a, "a", lambda a: let(b, "b", lambda b: tirx.Select(tirx.Or(_is_nan(a), tirx.GT(a, b)), a, b)))


def minimum(a: TirExpr, b: TirExpr) -> TirExpr:
    """Return the smaller of two floats, NaN if either is, as NumPy does."""
    return let(a, "a", lambda a: let(b, "b", lambda b: tirx.Select(tirx.Or(_is_nan(a), tirx.LT(a, b)), a, b)))


def unequal(a: TirExpr, b: TirExpr) -> TirExpr:
    """Return `a != b` of floats. TVM's own NE is false where either is NaN."""
    return tirx.Not(tirx.EQ(a, b))


def _is_nan(x: TirExpr) -> TirExpr:
    return unequal(x, x)


def _clamped(x: TirExpr, low: float, high: float) -> TirExpr:
    """Return `x` kept within bounds; the comparisons are false of NaN, which so stays."""
    below = tirx.Select(tirx.LT(x, _f32(low)), _f32(low), x)
    return tirx.Select(tirx.GT(x, _f32(high)), _f32(high), below)


def _power_of_two(n: TirExpr) -> TirExpr:
    """Return 2 ** n as float32, for an int32 of -126 .. 127: `n` as a float's exponent."""
    biased = tirx.Add(n, tirx.IntImm("int32", 127))
    return tirx.reinterpret("float32", tirx.shift_left(biased, tirx.IntImm("int32", 23)))


def _horner(coefficients: tuple[float, ...], x: TirExpr) -> TirExpr:
    value = _f32(coefficients[0])
    for coefficient in coefficients[1:]:
        value = _fma(value, x, _f32(coefficient))
    return value


def _fma(a: TirExpr, b: TirExpr, c: TirExpr) -> TirExpr:
    return fma(a, b, c, DType.FLOAT32)


def _f32(value: float) -> TirExpr:
    return literal(value, DType.FLOAT32)


def _library(name: str, x: TirExpr, dtype: DType) -> TirExpr:
    """Return a call of the C library's function: `expf` for float32, `exp` for float64."""
    return tirx.call_pure_extern(dtype.value, name + ("f" if dtype is DType.FLOAT32 else ""), x)
