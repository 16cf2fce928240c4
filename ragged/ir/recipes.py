"""How a CPU computes elementwise functions of float32, for scalars and vectors, without calls of the C library.

A recipe writes instructions through a `LaneWriter` and returns the result. Polynomials are for float32: of float64 the
C library is called for each element.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import TypeAlias

from ragged.ir.lane_writer import LaneWriter, Operand

Recipe: TypeAlias = Callable[[LaneWriter, Operand], Operand]


def _of_float32(name: str) -> Callable[[Recipe], Recipe]:
    """Make a recipe call the C library's function `name` where the type is float64."""

    def decorate(recipe: Recipe) -> Recipe:
        @wraps(recipe)
        def either(w: LaneWriter, x: Operand) -> Operand:
            return w.library(name, x) if w.is_double else recipe(w, x)

        return either

    return decorate


_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
"""Their sum is ln 2, and n * _LN2_HIGH is exact for |n| < 2 ** 15."""
_LOG10_2_HIGH, _LOG10_2_LOW = 0.30078125, 2.487456639e-4
"""Their sum is the decimal logarithm of 2, and n * _LOG10_2_HIGH is exact for |n| < 2 ** 15."""
_EXP_RANGE, _EXP2_RANGE, _EXP10_RANGE = (-87.33654, 89.0), (-126.0, 128.5), (-37.929779, 38.6)
"""Where the results are normal numbers of float32: below they are 0, above inf."""
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
"""Of Cephes' expf: exp(r) = 1 + r + r * r * p(r) for |r| <= ln(2) / 2."""
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
_SQRT_HALF_BITS = 0x3F3504F3
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
_ERF_BOUND = 4.0
"""Where erf rounds to 1."""
_ERF_ABOVE = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
_ERF_BELOW = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)
"""erf(x) = x * above(x * x) / below(x * x), of Eigen and XLA."""
_ERFC_FROM, _ERFC_BOUND = 0.25, 10.5
"""Where erfc is no longer 1 - erf(x), and where it is 0."""
_ERFC = (
    -5.2820921901e-04,
    7.3981131746e-04,
    4.2392766016e-03,
    -2.4400181029e-02,
    7.1671509634e-02,
    -1.5011540184e-01,
    2.4560342060e-01,
    -3.2623356035e-01,
    1.7900115498e-01,
)
"""erfc(x) = exp(-x * x) * p((x - 3) / (x + 3)): a least-squares fit, weighted for the relative error."""
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
"""Of Cephes' sinf and cosf, for |r| <= pi / 4: r + r ** 3 * p(r * r), and 1 - r * r / 2 + r ** 4 * q(r * r)."""
_HALF_PI_HIGH, _HALF_PI_LOW = 1.5707963267948966, 6.123233995736766e-17
_ROUND = 1.5 * 2.0**52
"""Added to a float64, it leaves the nearest integer in the low bits."""
CIRCULAR_BOUND = 2.0**40
"""Beyond it sin and cos are NaN: the quarter turn that an argument lies in is found in float64."""


@_of_float32("exp")
def exp(w: LaneWriter, x: Operand) -> Operand:
    """Return 2 ** n times e ** r, with x = n * ln 2 + r."""

    def inside(x: Operand) -> Operand:
        n = w.call("rint", w.mul(x, w.number(1.0 / math.log(2.0))))
        r = w.fma(n, w.number(-_LN2_LOW), w.fma(n, w.number(-_LN2_HIGH), x))
        return _exponential(w, n, r)

    return _without_subnormals(w, x, _EXP_RANGE, inside)


@_of_float32("exp2")
def exp2(w: LaneWriter, x: Operand) -> Operand:
    """Return 2 ** n times e ** r, with x = n + r / ln 2."""

    def inside(x: Operand) -> Operand:
        n = w.call("rint", x)
        return _exponential(w, n, w.mul(w.op("fsub", x, n), w.number(math.log(2.0))))

    return _without_subnormals(w, x, _EXP2_RANGE, inside)


@_of_float32("exp10")
def exp10(w: LaneWriter, x: Operand) -> Operand:
    """Return 2 ** n times e ** r, with x = n * log10(2) + r / ln 10."""

    def inside(x: Operand) -> Operand:
        n = w.call("rint", w.mul(x, w.number(math.log2(10.0))))
        rest = w.fma(n, w.number(-_LOG10_2_LOW), w.fma(n, w.number(-_LOG10_2_HIGH), x))
        return _exponential(w, n, w.mul(rest, w.number(math.log(10.0))))

    return _without_subnormals(w, x, _EXP10_RANGE, inside)


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
    series = w.fma(w.polynomial(_EXP, r), w.mul(r, r), w.op("fadd", r, w.number(1.0)))
    return w.scaled(series, n)


@_of_float32("log")
def log(w: LaneWriter, x: Operand) -> Operand:
    """Return the natural logarithm of x = m * 2 ** e from those of m, in sqrt(1/2) .. sqrt(2), and 2 ** e."""
    small = w.op("fcmp olt", x, w.number(2.0**-126))
    bits = w.cast("bits", w.select(small, w.mul(x, w.number(2.0**23)), x))
    power = w.integer("ashr", w.integer("sub", bits, _SQRT_HALF_BITS), 23)
    m = w.cast("from_bits", w.integer("sub", bits, w.integer("shl", power, 23)))
    e = w.cast("to_float", power)
    e = w.select(small, w.op("fsub", e, w.number(23.0)), e)
    f = w.op("fsub", m, w.number(1.0))
    square = w.mul(f, f)
    rest = w.fma(w.mul(w.polynomial(_LOG, f), f), square, w.mul(e, w.number(_LN2_LOW)))
    value = w.fma(e, w.number(_LN2_HIGH), w.op("fadd", f, w.fma(square, w.number(-0.5), rest)))
    value = w.select(w.op("fcmp oeq", x, w.number(math.inf)), x, value)
    value = w.select(w.op("fcmp oeq", x, w.number(0.0)), w.number(-math.inf), value)
    return w.select(w.op("fcmp ult", x, w.number(0.0)), w.number(math.nan), value)


@_of_float32("log1p")
def log1p(w: LaneWriter, x: Operand) -> Operand:
    """Return log(1 + x), corrected for what rounding 1 + x loses."""
    u = w.op("fadd", x, w.number(1.0))
    d = w.op("fsub", u, w.number(1.0))
    value = w.mul(log(w, u), w.op("fdiv", x, d))
    unchanged = w.op("fcmp oeq", d, w.number(0.0))
    value = w.select(unchanged, x, value)
    return w.select(w.op("fcmp oeq", x, w.number(math.inf)), x, value)


@_of_float32("tanh")
def tanh(w: LaneWriter, x: Operand) -> Operand:
    """Return a quotient of polynomials; a small x itself."""
    bounded = w.clamped(x, -_TANH_BOUND, _TANH_BOUND)
    square = w.mul(bounded, bounded)
    above = w.mul(bounded, w.polynomial(_TANH_ABOVE, square))
    quotient = w.op("fdiv", above, w.polynomial(_TANH_BELOW, square))
    return w.select(w.op("fcmp olt", w.call("fabs", x), w.number(_TANH_SMALL)), x, quotient)


@_of_float32("erf")
def erf(w: LaneWriter, x: Operand) -> Operand:
    """Return a quotient of polynomials; it multiplies x last, which may be subnormal."""
    x = w.clamped(x, -_ERF_BOUND, _ERF_BOUND)
    square = w.mul(x, x)
    return w.mul(x, w.op("fdiv", w.polynomial(_ERF_ABOVE, square), w.polynomial(_ERF_BELOW, square)))


@_of_float32("erfc")
def erfc(w: LaneWriter, x: Operand) -> Operand:
    """Return 1 - erf(x) below 1/4, where little of it cancels, and above it a polynomial times exp(-x * x)."""
    near = w.op("fsub", w.number(1.0), erf(w, x))
    far = w.clamped(x, _ERFC_FROM, _ERFC_BOUND)
    square = w.mul(far, far)
    bell = exp(w, w.neg(square))
    bell = w.fma(bell, w.fma(w.neg(far), far, square), bell)  # of what rounding lost of the square
    t = w.op("fdiv", w.op("fsub", far, w.number(3.0)), w.op("fadd", far, w.number(3.0)))
    return w.select(w.op("fcmp olt", x, w.number(_ERFC_FROM)), near, w.mul(bell, w.polynomial(_ERFC, t)))


def sigmoid(w: LaneWriter, x: Operand) -> Operand:
    """Return `1 / (1 + exp(-x))`, which is 0 and 1 at the infinities."""
    return w.op("fdiv", w.number(1.0), w.op("fadd", w.number(1.0), exp(w, w.neg(x))))


def rsqrt(w: LaneWriter, x: Operand) -> Operand:
    """Return `1 / sqrt(x)`, both rounded."""
    return w.op("fdiv", w.number(1.0), w.call("sqrt", x))


@_of_float32("sin")
def sin(w: LaneWriter, x: Operand) -> Operand:
    """Return the sine of what is left after whole quarter turns."""
    return _circular(w, x, 0)


@_of_float32("cos")
def cos(w: LaneWriter, x: Operand) -> Operand:
    """Return the sine of a quarter turn more."""
    return _circular(w, x, 1)


def _circular(w: LaneWriter, x: Operand, quarters: int) -> Operand:
    d = w.wide()
    inside = w.op("fcmp ole", w.call("fabs", x), w.number(CIRCULAR_BOUND))
    wide = w.cast("widen", x)
    shifted = d.fma(wide, d.number(2.0 / math.pi), d.number(_ROUND))
    n = d.op("fsub", shifted, d.number(_ROUND))
    r = d.fma(n, d.number(-_HALF_PI_LOW), d.fma(n, d.number(-_HALF_PI_HIGH), wide))
    turn = w.integer("add", d.cast("bits", shifted), quarters)
    r = w.cast("narrow", r)
    square = w.mul(r, r)
    sine = w.fma(w.mul(r, square), w.polynomial(_SIN, square), r)
    sine = w.select(w.op("fcmp oeq", r, w.number(0.0)), r, sine)  # the sum of zeros of both signs is 0.0
    cosine = w.fma(
        w.mul(square, square), w.polynomial(_COS, square), w.fma(square, w.number(-0.5), w.number(1.0))
    )
    value = w.select(w.integer("icmp ne", w.integer("and", turn, 1), 0), cosine, sine)
    value = w.select(w.integer("icmp ne", w.integer("and", turn, 2), 0), w.neg(value), value)
    return w.select(inside, value, w.number(math.nan))
