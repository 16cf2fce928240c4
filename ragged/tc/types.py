"""Types of numbers, as texts name them, and how they combine.

Integers are computed in int64 and stored in their own width, so that sums and products wrap as C's do; `/` and `%` of
integers round toward minus infinity. float16 and bfloat16 are computed in float32 and rounded where they are stored.
"""

from __future__ import annotations

from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Cast, Const, Expr

_SYNONYMS = {"float": "float32", "double": "float64", "int": "int32"}
_FLOATS = ("float16", "bfloat16", "float32", "float64")
BOOL, INT, FLOAT = "bool", "int32", "float32"
"""The types of comparisons, and of numbers in the text without and with a point."""


def canonical(type_: str) -> str:
    """Return the name of a type by its kind and bits."""
    return _SYNONYMS.get(type_, type_)


def is_float(type_: str) -> bool:
    """Return whether a type is of floats."""
    return type_ in _FLOATS


def is_int(type_: str) -> bool:
    """Return whether a type is of integers; bool is none."""
    return type_ != BOOL and not is_float(type_)


def join(one: str, other: str) -> str:
    """Return the type of an operator's operands: floats win over integers, wider ones win, signed ones win."""
    if one == other:
        return one
    if is_float(one) != is_float(other):
        return one if is_float(one) else other
    if is_float(one):
        return FLOAT if {one, other} == {"float16", "bfloat16"} else max(one, other, key=_FLOATS.index)
    bits = max(_bits(one), _bits(other))
    return f"{'u' if one[0] == other[0] == 'u' else ''}int{bits}"


def narrows(value: str, stored: str) -> bool:
    """Return whether storing a value in a type may lose a part of it."""
    if BOOL in (value, stored) or is_float(value) != is_float(stored):
        return value != stored and not (is_int(value) and is_float(stored))
    return join(value, stored) != stored


def computed(type_: str) -> DType:
    """Return the type that the IR computes in."""
    if type_ == BOOL:
        return DType.BOOL
    if type_ == "float64":
        return DType.FLOAT64
    return DType.FLOAT32 if is_float(type_) else INDEX


def converted(expr: Expr, dtype: DType) -> Expr:
    """Return an expression in another type that the IR computes in."""
    if expr.dtype is dtype:
        return expr
    if isinstance(expr, Const) and dtype is not DType.BOOL:
        return Const(float(expr.value) if dtype.is_float else int(expr.value), dtype)
    return Cast(dtype, expr)


def _bits(type_: str) -> int:
    return int(type_.removeprefix("u").removeprefix("int"))
