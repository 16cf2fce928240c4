"""The elementwise functions, each one row of one table.

The IR's text and types, the interpreter, the oracle, the cost, code for CPUs and GPUs and the functions `ragged.NAME`
and `cortex.ra.NAME` are derived from it. A composed function expands into others and is no operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from typing import Any, TypeAlias

import numpy as np

from ragged.errors import Location, ModelError
from ragged.ir import exponentials, recipes
from ragged.ir.lane_writer import LaneWriter, Operand
from ragged.ir.recipes import Recipe

Number: TypeAlias = Any
"""A number or an array of NumPy's, or an expression of a front end."""
Functions: TypeAlias = Any
"""The module of a front end's functions: `f.exp`, `f.where`."""


@dataclass(frozen=True, slots=True, eq=False)
class Elementwise:
    """An operator of one float.

    Attributes:
        name: how it prints and what it is called in the front ends.
        doc: what it returns.
        numpy: its value on arrays of float64.
        cost: its time in multiply-adds of a tiled product.
        error: bound on the relative error in float32, of values that are normal numbers.
        cuda: C++ of an operand {x}; {f} is "f" in float32 and empty in float64.
        derivative: the derivative, of a front end's functions, `x` and the function's value `y`.
        recipe: how a CPU computes it.
    """

    name: str
    doc: str
    numpy: Callable[[Number], Number]
    cost: int
    error: float
    cuda: str
    derivative: Callable[[Functions, Number, Number], Number]
    recipe: Recipe

    @property
    def value(self) -> str:
        """How it prints, as of the other operators."""
        return self.name

    def __reduce__(self) -> tuple[Callable[[str], Elementwise], tuple[str]]:
        return _function, (self.name,)


def _function(name: str) -> Elementwise:
    """Return the function of a name, where an expression is unpickled: in another process as well."""
    return FUNCTIONS[name]


@dataclass(frozen=True, slots=True)
class Composed:
    """A function that expands into others: `expand(f, x)` with a front end's functions `f`."""

    name: str
    doc: str
    numpy: Callable[..., Number]
    expand: Callable[..., Number]


def _intrinsic(name: str) -> Recipe:
    """Return the recipe of a single instruction."""

    def recipe(w: LaneWriter, x: Operand) -> Operand:
        return w.call(name, x)

    return recipe


_erf, _erfc = (np.vectorize(each, otypes=[np.float64]) for each in (math.erf, math.erfc))
_REAL = (int, float, np.integer, np.floating)
_EXACT = 2.0**-24
"""Half a unit in the last place."""
_ROWS = (
    Elementwise(
        "exp", "e to the power of x", np.exp, 32, 1e-6, "exp{f}({x})",
        lambda f, x, y: y, exponentials.exp,
    ),
    Elementwise(
        "exp2", "2 to the power of x", np.exp2, 32, 1e-6, "exp2{f}({x})",
        lambda f, x, y: math.log(2.0) * y, exponentials.exp2,
    ),
    Elementwise(
        "exp10", "10 to the power of x", lambda x: np.power(10.0, x), 32, 1e-6, "exp10{f}({x})",
        lambda f, x, y: math.log(10.0) * y, exponentials.exp10,
    ),
    Elementwise(
        "log", "the natural logarithm; NaN below 0", np.log, 32, 1e-6, "log{f}({x})",
        lambda f, x, y: 1.0 / x, exponentials.log,
    ),
    Elementwise(
        "log1p", "log(1 + x), accurate near 0", np.log1p, 40, 1e-6, "log1p{f}({x})",
        lambda f, x, y: 1.0 / (1.0 + x), exponentials.log1p,
    ),
    Elementwise(
        "sqrt", "the square root; NaN below 0", np.sqrt, 8, _EXACT, "sqrt{f}({x})",
        lambda f, x, y: 0.5 / y, _intrinsic("sqrt"),
    ),
    Elementwise(
        "rsqrt", "1 / sqrt(x)", lambda x: 1.0 / np.sqrt(x), 16, 2 * _EXACT, "(1 / sqrt{f}({x}))",
        lambda f, x, y: -0.5 * y / x, recipes.rsqrt,
    ),
    Elementwise(
        "tanh", "the hyperbolic tangent", np.tanh, 32, 1e-6, "tanh{f}({x})",
        lambda f, x, y: 1.0 - y * y, exponentials.tanh,
    ),
    Elementwise(
        "sigmoid", "the logistic function 1 / (1 + exp(-x))", lambda x: 1.0 / (1.0 + np.exp(-x)), 32, 1e-6,
        "(1 / (1 + exp{f}(-{x})))", lambda f, x, y: y * (1.0 - y), exponentials.sigmoid,
    ),
    Elementwise(
        "erf", "the error function", _erf, 32, 1e-6, "erf{f}({x})",
        lambda f, x, y: 2.0 / math.pi**0.5 * f.exp(-(x * x)), recipes.erf,
    ),
    Elementwise(
        "erfc", "1 - erf(x), accurate where that is near 0", _erfc, 64, 1e-6, "erfc{f}({x})",
        lambda f, x, y: -2.0 / math.pi**0.5 * f.exp(-(x * x)), recipes.erfc,
    ),
    Elementwise(
        "sin", "the sine; NaN beyond 2 ** 40", np.sin, 32, 1e-6, "sin{f}({x})",
        lambda f, x, y: f.cos(x), recipes.sin,
    ),
    Elementwise(
        "cos", "the cosine; NaN beyond 2 ** 40", np.cos, 32, 1e-6, "cos{f}({x})",
        lambda f, x, y: -f.sin(x), recipes.cos,
    ),
    Elementwise(
        "floor", "the largest integer up to x, as a float", np.floor, 2, 0.0, "floor{f}({x})",
        lambda f, x, y: 0.0, _intrinsic("floor"),
    ),
    Elementwise(
        "ceil", "the smallest integer from x on, as a float", np.ceil, 2, 0.0, "ceil{f}({x})",
        lambda f, x, y: 0.0, _intrinsic("ceil"),
    ),
)  # fmt: skip
FUNCTIONS: dict[str, Elementwise] = {row.name: row for row in _ROWS}
"""The operators, by name."""


_MOST_FACTORS = 64
"""The largest exponent that is written out as products: what an expression repeats is repeated in its code."""


def _power(f: Functions, x: Number, y: Any) -> Number:
    """Return products for a whole exponent from -64 to 64, else by exp(y * log(x)), within 1e-6 * (1 + |y log x|)."""
    if isinstance(y, bool) or not (isinstance(y, _REAL) and math.isfinite(y)):
        raise ModelError(
            f"pow: the exponent is {repr(y) if isinstance(y, _REAL) else f'of type {type(y).__name__}'}",
            at=Location.capture(),
            because="it is a finite number: a power is written out as products, or by the logarithm",
            fix="a number, as in x ** 2; or exp(y * log(x)), where x is above 0",
        )
    if float(y) != int(y):
        return f.exp(y * f.log(x))
    if y < 0:
        return 1.0 / _power(f, x, -y)
    if y > _MOST_FACTORS:
        odd = int(y) % 2
        even = f.exp(float(y - odd) * f.log(abs(x)))
        return even * x if odd else even
    if y in (0, 1):
        return 1.0 * x if y else f.where(x == x, 1.0, 1.0)  # 1 of NaN as well, and still read
    half = _power(f, x, int(y) // 2)
    return half * half * x if int(y) % 2 else half * half


def _gelu(x: Number) -> Number:
    return 0.5 * x * (1.0 + _erf(x * 0.5**0.5))


COMPOSED: dict[str, Composed] = {
    row.name: row
    for row in (
        Composed(
            "relu", "max(0, x); of NaN, NaN", lambda x: np.maximum(0.0, x), lambda f, x: f.maximum(0.0, x)
        ),
        Composed(
            "gelu",
            "x times the normal distribution's integral up to x: 0.5 x (1 + erf(x / sqrt(2)))",
            _gelu,
            lambda f, x: 0.5 * x * (1.0 + f.erf(x * 0.5**0.5)),
        ),
        Composed(
            "leaky_relu",
            "x where x is above 0, slope * x elsewhere; the slope is 0.01 unless given",
            lambda x, slope=0.01: np.where(x > 0, x, slope * x),
            lambda f, x, slope=0.01: f.where(x > 0.0, x, slope * x),
        ),
        Composed("silu", "x * sigmoid(x)", lambda x: x / (1.0 + np.exp(-x)), lambda f, x: x * f.sigmoid(x)),
        Composed(
            "softplus",
            "log(1 + exp(x)), without overflow",
            lambda x: np.logaddexp(0.0, x),
            lambda f, x: f.maximum(0.0, x) + f.log1p(f.exp(-f.abs_(x))),
        ),
        Composed("pow", "x to the power of a number", np.power, _power),
    )
}
"""The functions made of others, by name."""


def front_end_function(module: Functions, name: str, apply: Callable[[Elementwise, Any], Any]) -> Any:
    """Return the function that a front end calls `name`; `AttributeError` if no row has the name.

    `module` has the front end's functions, and `apply` makes an operator's expression.
    """
    row = FUNCTIONS.get(name) or COMPOSED.get(name)
    if row is None:
        raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")

    def of_one(_: Functions, x: Any) -> Any:
        assert isinstance(row, Elementwise)
        return apply(row, x)

    expand = row.expand if isinstance(row, Composed) else of_one

    def function(*args: Any, **named: Any) -> Any:
        if named or len(args) != 1 or isinstance(row, Composed):
            _check_arguments(name, function, args, named)
        return expand(module, *args, **named)

    _, *own = signature(expand).parameters.values()
    function.__signature__ = Signature([each.replace(annotation=Parameter.empty) for each in own])  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {row.doc}."
    return function


def _check_arguments(name: str, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    try:
        function.__signature__.bind(*args, **named)
    except TypeError as error:
        raise ModelError(
            f"{name}: {error}", at=Location.capture(), fix=f"{name}{function.__signature__}"
        ) from None


def names() -> list[str]:
    """Return the names of all functions, sorted."""
    return sorted((*FUNCTIONS, *COMPOSED))
