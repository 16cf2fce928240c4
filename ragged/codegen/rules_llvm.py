"""What the operations of `ragged.codegen.ops` are on a CPU: LLVM's correctly rounded arithmetic, nothing called.

Vectors, their remainders and scalars go through the same operations, so a value has the same bits wherever its
element stands. The functions hold to 1e-6 of the value wherever it is a normal number, at the infinities and NaN.

The order of rounding is part of a program (DESIGN, section 3), but TVM tells LLVM to contract `a * b + c` into a
fused multiply-add wherever it can, and no setting of TVM's says otherwise. So a product is written
`fma(a, b, -0.0)`, which is the product rounded once and cannot be contracted, with a -0.0 that LLVM may not look
through; on any processor with fused multiply-add it costs what a multiplication costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import tirx
from tvm.tirx.op import register_intrin_lowering

from ragged.codegen.ops import EXP, FMA, MUL, SIGMOID, TANH, TirExpr

_LOG2_E = 1.44269504088896341
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
"""Their sum is ln 2, and n * _LN2_HIGH is exact for |n| < 2 ** 15."""
_EXP_LOWEST, _EXP_HIGHEST = -104.0, 89.0
"""Beyond them exp is 0 and inf in float32."""
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
"""Of Cephes' expf: exp(r) = 1 + r + r * r * p(r) for |r| <= ln(2) / 2."""

_TANH_BOUND = 7.99881172180175781
"""Where the approximation of tanh reaches 1."""
_TANH_SMALL = 0.0004
"""Below it tanh(x) is x."""
_TANH_ABOVE = (
    -2.76076847742355e-16,
    2.00018790482477e-13,
    -8.60467152213735e-11,
    5.12229709037114e-08,
    1.48572235717979e-05,
    6.37261928875436e-04,
    4.89352455891786e-03,
)
_TANH_BELOW = (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
"""tanh(x) = x * above(x * x) / below(x * x): the approximation of degrees 13 and 6 that Eigen and XLA use."""


@dataclass(frozen=True, slots=True)
class _Lanes:
    """Arithmetic on a scalar (one lane) or a vector: expressions of the dtype of one operand of float."""

    dtype: Any

    @property
    def integer(self) -> str:
        return str(self.dtype).replace("float", "int")

    def number(self, value: float) -> TirExpr:
        return self._spread(tirx.FloatImm(f"float{self.dtype.bits}", value))

    def int(self, value: int) -> TirExpr:
        return self._spread(tirx.IntImm(f"int{self.dtype.bits}", value))

    def intrinsic(self, name: str, *args: TirExpr) -> TirExpr:
        return tirx.call_llvm_pure_intrin(str(self.dtype), f"llvm.{name}", *args)

    def fma(self, a: TirExpr, b: TirExpr, c: TirExpr) -> TirExpr:
        return self.intrinsic("fma", a, b, c)

    def mul(self, a: TirExpr, b: TirExpr) -> TirExpr:
        return self.fma(a, b, self.intrinsic("arithmetic.fence", self.number(-0.0)))

    def polynomial(self, coefficients: tuple[float, ...], x: TirExpr) -> TirExpr:
        """Return the polynomial of `coefficients`, highest first, by Horner's rule."""
        value = self.number(coefficients[0])
        for coefficient in coefficients[1:]:
            value = self.fma(value, x, self.number(coefficient))
        return value

    def clamped(self, x: TirExpr, low: float, high: float) -> TirExpr:
        """Return `x` kept within bounds; the comparisons are false of NaN, which so stays."""
        below = tirx.Select(tirx.LT(x, self.number(low)), self.number(low), x)
        return tirx.Select(tirx.GT(below, self.number(high)), self.number(high), below)

    def power_of_two(self, n: TirExpr) -> TirExpr:
        """Return 2 ** n as float32, for an int32 of -126 .. 127: `n` as a float's exponent."""
        bits = tirx.shift_left(tirx.Add(n, self.int(127)), self.int(23))
        return tirx.reinterpret(str(self.dtype), bits)

    def _spread(self, value: TirExpr) -> TirExpr:
        return value if self.dtype.lanes == 1 else tirx.Broadcast(value, self.dtype.lanes)


def let(name: str, value: TirExpr, body: Callable[[TirExpr], TirExpr]) -> TirExpr:
    """Return `body(value)` with `value` evaluated once."""
    var = tirx.Var(name, value.ty)
    return tirx.Let(var, value, body(var))


def _fma(call: Any) -> TirExpr:
    return _Lanes(call.ty.dtype).fma(*call.args)


def _mul(call: Any) -> TirExpr:
    return _Lanes(call.ty.dtype).mul(*call.args)


def _exp(call: Any) -> TirExpr:
    return let("x", call.args[0], lambda x: exp(_Lanes(call.ty.dtype), x))


def _tanh(call: Any) -> TirExpr:
    return let("x", call.args[0], lambda x: tanh(_Lanes(call.ty.dtype), x))


def _sigmoid(call: Any) -> TirExpr:
    """Return `1 / (1 + exp(-x))`, which is 0 and 1 at the infinities."""
    lanes = _Lanes(call.ty.dtype)
    one = lanes.number(1.0)
    minus = tirx.Sub(lanes.number(-0.0), call.args[0])
    return tirx.Div(one, tirx.Add(one, let("minus", minus, lambda x: exp(lanes, x))))


def exp(lanes: _Lanes, x: TirExpr) -> TirExpr:
    """Return the power of e: 2 ** n times that of r, with x = n * ln 2 + r and r small."""

    def reduced(x: TirExpr) -> TirExpr:
        n = lanes.intrinsic("rint", lanes.mul(x, lanes.number(_LOG2_E)))
        return let("n", n, lambda n: let("r", remainder(x, n), lambda r: scaled(n, r)))

    def remainder(x: TirExpr, n: TirExpr) -> TirExpr:
        return lanes.fma(n, lanes.number(-_LN2_LOW), lanes.fma(n, lanes.number(-_LN2_HIGH), x))

    def scaled(n: TirExpr, r: TirExpr) -> TirExpr:
        power = tirx.Cast(lanes.integer, n)
        series = lanes.fma(lanes.polynomial(_EXP, r), lanes.mul(r, r), tirx.Add(r, lanes.number(1.0)))
        return let("power", power, lambda power: in_two_steps(series, power))

    def in_two_steps(series: TirExpr, power: TirExpr) -> TirExpr:
        """Scale by 2 ** power, which itself may be no float: too large, or subnormal."""
        half = tirx.shift_right(power, lanes.int(1))

        def by_halves(half: TirExpr) -> TirExpr:
            first = lanes.mul(series, lanes.power_of_two(half))
            return lanes.mul(first, lanes.power_of_two(tirx.Sub(power, half)))

        return let("half", half, by_halves)

    return let("clamped", lanes.clamped(x, _EXP_LOWEST, _EXP_HIGHEST), reduced)


def tanh(lanes: _Lanes, x: TirExpr) -> TirExpr:
    """Return the hyperbolic tangent of `x`."""

    def quotient(x: TirExpr, square: TirExpr) -> TirExpr:
        above = lanes.mul(x, lanes.polynomial(_TANH_ABOVE, square))
        return tirx.Div(above, lanes.polynomial(_TANH_BELOW, square))

    def rational(x: TirExpr) -> TirExpr:
        return let("square", lanes.mul(x, x), lambda square: quotient(x, square))

    bounded = let("clamped", lanes.clamped(x, -_TANH_BOUND, _TANH_BOUND), rational)
    return tirx.Select(tirx.LT(lanes.intrinsic("fabs", x), lanes.number(_TANH_SMALL)), x, bounded)


for _name, _rule in ((FMA, _fma), (MUL, _mul), (EXP, _exp), (TANH, _tanh), (SIGMOID, _sigmoid)):
    register_intrin_lowering(_name, target="llvm", f=_rule)
