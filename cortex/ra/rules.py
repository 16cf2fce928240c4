"""Operand and result types of operators, and their precedence in text."""

from __future__ import annotations

from collections.abc import Callable

from cortex.ra.base import ModelTensor, own_name
from cortex.ra.node import Computed, Handle
from ragged.errors import Location, ModelError
from ragged.ir.dtype import DType
from ragged.ir.ops import BinaryOp, UnaryOp

_LEVELS: tuple[tuple[BinaryOp, ...], ...] = (
    (BinaryOp.EQ, BinaryOp.NE, BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE),
    (BinaryOp.OR,),
    (BinaryOp.AND,),
    (BinaryOp.ADD, BinaryOp.SUB),
    (BinaryOp.MUL, BinaryOp.DIV, BinaryOp.FLOORDIV, BinaryOp.MOD),
)

LEVEL = {op: level for level, ops in enumerate(_LEVELS) for op in ops}
"""Python's precedence, loosest first: printed text can be pasted back."""

TIGHTEST = len(_LEVELS)
"""The level of expressions that need no brackets."""

SIGN = {op: op.value for op in BinaryOp} | {BinaryOp.AND: "&", BinaryOp.OR: "|"}
"""The sign of an operator in the text of a model."""

_LOGIC = "compare numbers with ==, <, ...; combine truth values with &, | and ~"


def type_of_binary(op: BinaryOp, operand: DType, text: Callable[[], str]) -> DType:
    """Return the result type of `op` on two operands of one type; `text` gives the expression for the error."""
    if op.is_logical != (operand is DType.BOOL):
        raise mixes_types(text(), f"the operator is for {_kind(op.is_logical)}", _LOGIC)
    if op in (BinaryOp.FLOORDIV, BinaryOp.MOD) and operand.is_float:
        raise mixes_types(text(), "the operator is for integers", "divide floats with /")
    return DType.BOOL if op.is_comparison else operand


def type_of_unary(op: UnaryOp, operand: DType, text: Callable[[], str]) -> DType:
    """Return the result type of `op`; `text` gives the expression for the error."""
    if (op is UnaryOp.NOT) != (operand is DType.BOOL):
        raise mixes_types(text(), f"the operator is for {_kind(op is UnaryOp.NOT)}", _LOGIC)
    return operand


def mixes_types(text: str, because: str, fix: str) -> ModelError:
    """Return the error for an expression whose operand types do not fit."""
    return ModelError(f"'{text}' mixes types", at=Location.capture(), because=because, fix=fix)


def not_a_value(value: object) -> ModelError:
    """Return the error for an object used where a number or an expression is needed."""
    return ModelError(
        f"{shown(value)} stands where a number or an expression is needed",
        at=Location.capture(),
        because=f"it is a {type(value).__name__}",
        fix="read a tensor at indices, as in h[n, i]",
    )


def shown(value: object) -> str:
    """Return a user's object for a message: parts of a model as they are written, in quotes."""
    match value:
        case Handle() | Computed():
            return f"'{value.text()}'"
        case ModelTensor():
            return f"'{own_name(value)}'"
        case _:
            return repr(value)


def _kind(logical: bool) -> str:
    return "truth values" if logical else "numbers"
