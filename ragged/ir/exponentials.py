"""How a CPU computes exponentials, logarithms and tanh of float32 and float64, for scalars and vectors.

A recipe writes instructions through a `LaneWriter` and returns the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ragged.ir.lane_writer import LaneWriter, Operand


@dataclass(frozen=True, slots=True)
class _Format:
    """The numbers of a floating-point type that exponentials and logarithms are made of.

    `mantissa` is its bits; `least_exponent` is that of the least normal number; `sqrt_half_bits` those of sqrt(1/2).
    ln 2 and the decimal logarithm of 2 are sums of two numbers, and n times the first one is exact for |n| < 2 ** 15.
    In a range results are normal numbers: below it they are 0, above it inf. Of the polynomial p of `exp`,
    exp(r) = 1 + r + r * r * p(r) for |r| <= ln(2) / 2.
    """

    mantissa: int
    least_exponent: int
    sqrt_half_bits: int
    ln2: tuple[float, float]
    log10_2: tuple[float, float]
    exp_range: tuple[float, float]
    exp2_range: tuple[float, float]
    exp10_range: tuple[float, float]
    exp: tuple[float, ...]


_FLOAT32 = _Format(
    mantissa=23,
    least_exponent=-126,
    sqrt_half_bits=0x3F3504F3,
    ln2=(0.693359375, -2.12194440e-4),
    log10_2=(0.30078125, 2.487456639e-4),
    exp_range=(-87.33654, 89.0),
    exp2_range=(-126.0, 128.5),
    exp10_range=(-37.929779, 38.6),
    # of Cephes' expf
    exp=(
        1.9875691500e-4,
        1.3981999507e-3,
        8.3334519073e-3,
        4.1665795894e-2,
        1.6666665459e-1,
        5.0000001201e-1,
    ),
)
_FLOAT64 = _Format(
    mantissa=52,
    least_exponent=-1022,
    sqrt_half_bits=0x3FE6A09E667F3BCD,
    ln2=(0.6931471803691238, 1.9082149292705877e-10),
    log10_2=(0.3010299955494702, 1.1451100898021838e-10),
    exp_range=(-708.3964185322641, 710.0),
    exp2_range=(-1022.0, 1024.5),
    exp10_range=(-307.6526555685887, 308.6),
    exp=tuple(1.0 / math.factorial(k) for k in range(13, 1, -1)),  # Taylor's: the rest is below 2 ** -57
)


def _format(w: LaneWriter) -> _Format:
    return _FLOAT64 if w.is_double else _FLOAT32


_LOG = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
"""Of Cephes' logf: log(1 + f) = f - f * f / 2 + f ** 3 * p(f) for sqrt(1/2) <= 1 + f < sqrt(2)."""
_ATANH = tuple(2.0 / (2 * k + 1) for k in range(11, 0, -1))
"""log(1 + f) = 2 * s + s ** 3 * p(s * s), the series of twice the inverse of tanh, with s = f / (2 + f)."""
_TANH_BOUND_DOUBLE = 20.0
"""Where tanh of float64 rounds to 1."""
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


def exp(w: LaneWriter, x: Operand) -> Operand:
    """Return 2 ** n times e ** r, with x = n * ln 2 + r."""

    def inside(x: Operand) -> Operand:
        return _exponential(w, *_halvings(w, x))

    return _without_subnormals(w, x, _format(w).exp_range, inside)


def _halvings(w: LaneWriter, x: Operand) -> tuple[Operand, Operand]:
    """Return a whole number n and what is left, r, of x = n * ln 2 + r."""
    high, low = _format(w).ln2
    n = w.call("rint", w.mul(x, w.number(1.0 / math.log(2.0))))
    return n, w.fma(n, w.number(-low), w.fma(n, w.number(-high), x))


def exp2(w: LaneWriter, x: Operand) -> Operand:
    """Return 2 ** n times e ** r, with x = n + r / ln 2."""

    def inside(x: Operand) -> Operand:
        n = w.call("rint", x)
        return _exponential(w, n, w.mul(w.op("fsub", x, n), w.number(math.log(2.0))))

    return _without_subnormals(w, x, _format(w).exp2_range, inside)


def exp10(w: LaneWriter, x: Operand) -> Operand:
    """Return 2 ** n times e ** r, with x = n * log10(2) + r / ln 10."""
    high, low = _format(w).log10_2

    def inside(x: Operand) -> Operand:
        n = w.call("rint", w.mul(x, w.number(math.log2(10.0))))
        rest = w.fma(n, w.number(-low), w.fma(n, w.number(-high), x))
        return _exponential(w, n, w.mul(rest, w.number(math.log(10.0))))

    return _without_subnormals(w, x, _format(w).exp10_range, inside)


def _without_subnormals(
    w: LaneWriter, x: Operand, bounds: tuple[float, float], inside: Callable[[Operand], Operand]
) -> Operand:
    """Return inside(x), with x limited to the second bound; 0 below the first one.

    Processors take many times as long for a vector that has a subnormal result, as a mask of a softmax would have it.
    """
    least, most = map(w.number, bounds)
    small = w.op("fcmp olt", x, least)
    large = w.op("fcmp ogt", x, most)
    bounded = w.select(large, most, w.select(small, w.number(0.0), x))
    return w.select(small, w.number(0.0), inside(bounded))


def _exponential(w: LaneWriter, n: Operand, r: Operand) -> Operand:
    """Return 2 ** n * e ** r, for |r| <= ln(2) / 2."""
    series = w.fma(w.polynomial(_format(w).exp, r), w.mul(r, r), w.op("fadd", r, w.number(1.0)))
    return w.scaled(series, n)


def log(w: LaneWriter, x: Operand) -> Operand:
    """Return the natural logarithm of x = m * 2 ** e from those of m, in sqrt(1/2) .. sqrt(2), and 2 ** e."""
    own = _format(w)
    high, low = own.ln2
    small = w.op("fcmp olt", x, w.number(2.0**own.least_exponent))
    bits = w.cast("bits", w.select(small, w.mul(x, w.number(2.0**own.mantissa)), x))
    power = w.integer("ashr", w.integer("sub", bits, own.sqrt_half_bits), own.mantissa)
    m = w.cast("from_bits", w.integer("sub", bits, w.integer("shl", power, own.mantissa)))
    e = w.cast("to_float", power)
    e = w.select(small, w.op("fsub", e, w.number(float(own.mantissa))), e)
    f = w.op("fsub", m, w.number(1.0))
    square = w.mul(f, f)
    rest = w.mul(e, w.number(low))
    if w.is_double:  # 2 * s is f - s * f, and s * f is f * f / 2 - s * f * f / 2
        s = w.op("fdiv", f, w.op("fadd", f, w.number(2.0)))
        t = w.mul(s, s)
        rest = w.fma(s, w.fma(square, w.number(0.5), w.mul(t, w.polynomial(_ATANH, t))), rest)
    else:
        rest = w.fma(w.mul(w.polynomial(_LOG, f), f), square, rest)
    value = w.fma(e, w.number(high), w.op("fadd", f, w.fma(square, w.number(-0.5), rest)))
    value = w.select(w.op("fcmp oeq", x, w.number(math.inf)), x, value)
    value = w.select(w.op("fcmp oeq", x, w.number(0.0)), w.number(-math.inf), value)
    return w.select(w.op("fcmp ult", x, w.number(0.0)), w.number(math.nan), value)


def log1p(w: LaneWriter, x: Operand) -> Operand:
    """Return log(1 + x), corrected for what rounding 1 + x loses."""
    u = w.op("fadd", x, w.number(1.0))
    d = w.op("fsub", u, w.number(1.0))
    value = w.mul(log(w, u), w.op("fdiv", x, d))
    unchanged = w.op("fcmp oeq", d, w.number(0.0))
    value = w.select(unchanged, x, value)
    return w.select(w.op("fcmp oeq", x, w.number(math.inf)), x, value)


def tanh(w: LaneWriter, x: Operand) -> Operand:
    """Return a quotient of polynomials, of float32; a small x itself."""
    if w.is_double:
        return _tanh_double(w, x)
    bounded = w.clamped(x, -_TANH_BOUND, _TANH_BOUND)
    square = w.mul(bounded, bounded)
    above = w.mul(bounded, w.polynomial(_TANH_ABOVE, square))
    quotient = w.op("fdiv", above, w.polynomial(_TANH_BELOW, square))
    return w.select(w.op("fcmp olt", w.call("fabs", x), w.number(_TANH_SMALL)), x, quotient)


def _tanh_double(w: LaneWriter, x: Operand) -> Operand:
    """Return t / (t + 2) with the sign of x, and t = e ** |2 * x| - 1 = 2 ** n * (e ** r - 1) + (2 ** n - 1)."""
    size = w.clamped(w.call("fabs", x), 0.0, _TANH_BOUND_DOUBLE)
    n, r = _halvings(w, w.op("fadd", size, size))
    less = w.fma(w.polynomial(_format(w).exp, r), w.mul(r, r), r)
    power = w.scaled(w.number(1.0), n)
    t = w.fma(power, less, w.op("fsub", power, w.number(1.0)))
    return w.call("copysign", w.op("fdiv", t, w.op("fadd", t, w.number(2.0))), x)


def sigmoid(w: LaneWriter, x: Operand) -> Operand:
    """Return `1 / (1 + exp(-x))`, which is 0 and 1 at the infinities."""
    return w.op("fdiv", w.number(1.0), w.op("fadd", w.number(1.0), exp(w, w.neg(x))))
