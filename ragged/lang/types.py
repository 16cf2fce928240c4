"""Types of scalar expressions: of numbers, and of operators on operands of one type."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ragged.data.read import is_real
from ragged.errors import Location, ModelError
from ragged.ir.dtype import INDEX, DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.ops import BinaryOp, UnaryOp

FLOAT = DType.FLOAT32
"""The type of all floating-point arithmetic; INDEX is the type of all integers."""

KEEPS_INTEGERS = frozenset[UnaryOp | Elementwise]({UnaryOp.NEG, UnaryOp.ABS})
"""Unary operators on integers that give integers; the others cast numbers to FLOAT."""

_LOGIC = "compare numbers with ==, <, ...; combine truth values with &, | and ~"


def typed_number(value: object, shown: Callable[[object], str], example: str) -> tuple[float, DType]:
    """Return a number of Python or NumPy and its type; `ModelError` for any other object.

    `shown` is the text of the object for the error, `example` the read of a tensor that it proposes.
    """
    match value.item() if isinstance(value, np.generic) else value:
        case bool(flag):
            return flag, DType.BOOL
        case int(number):
            return number, INDEX
        case float(number):
            return number, FLOAT
        case other:
            raise ModelError(
                f"{shown(other)} stands where a number or an expression is needed",
                at=Location.capture(),
                because=f"it is a {type(other).__name__}",
                fix=f"read a tensor at indices, as in {example}",
            )


def epsilon_of(value: object, what: str = "eps") -> float:
    """Return what is added to a variance; `ModelError` about `what` if it is negative or no number."""
    if not is_real(value) or not 0 <= value < math.inf:
        why = "it is added to a variance, of which the root is taken"
        raise ModelError(f"{what}={value!r}", at=Location.capture(), because=why, fix="1e-5")
    return float(value)


def binary_type(op: BinaryOp, operand: DType, divisor: float | None, text: Callable[[], str]) -> DType:
    """Return the type of `op` on two operands of type `operand`; `ModelError` for an operator of other types.

    `divisor` is the right operand where it is a constant; `text` gives the expression for the error.
    """
    if op.is_logical != (operand is DType.BOOL):
        raise mixes_types(text(), f"the operator is for {_kind(op.is_logical)}", _LOGIC)
    if op in (BinaryOp.FLOORDIV, BinaryOp.MOD):
        if operand.is_float:
            raise ModelError(
                f"'{text()}' divides floats as integers",
                at=Location.capture(),
                because="the operator is for integers",
                fix="x / y, and where a remainder is needed x - y * floor(x / y)",
            )
        if divisor == 0:
            raise ModelError(f"'{text()}' divides by 0", at=Location.capture(), because="it has no value")
    return DType.BOOL if op.is_comparison else operand


def unary_type(op: UnaryOp | Elementwise, operand: DType, text: Callable[[], str]) -> DType:
    """Return the type of `op`; `ModelError` for an operator of other types; `text` gives the expression."""
    if (op is UnaryOp.NOT) != (operand is DType.BOOL):
        raise mixes_types(text(), f"the operator is for {_kind(op is UnaryOp.NOT)}", _LOGIC)
    return operand


def mixes_types(text: str, because: str, fix: str) -> ModelError:
    """Return the error for an expression with incompatible operand types."""
    return ModelError(f"'{text}' mixes types", at=Location.capture(), because=because, fix=fix)


def _kind(logical: bool) -> str:
    return "truth values" if logical else "numbers"
