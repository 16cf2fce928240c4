"""How a CPU computes other elementwise functions than exponentials and logarithms, for scalars and vectors.

A recipe writes instructions through a `LaneWriter` and returns the result. Polynomials are for float32: of float64 the
C library is called for each element.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import TypeAlias

from ragged.ir.exponentials import exp
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
    turn = w.integer("add", d.cast("low_bits", shifted), quarters)
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
