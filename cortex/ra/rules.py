"""The text of operators and of objects in messages."""

from __future__ import annotations

from cortex.ra.base import ModelTensor, own_name
from cortex.ra.node import Computed, Handle
from ragged.ir.ops import BinaryOp

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


def shown(value: object) -> str:
    """Return a user's object for a message: parts of a model as they are written, in quotes."""
    match value:
        case Handle() | Computed():
            return f"'{value.text()}'"
        case ModelTensor():
            return f"'{own_name(value)}'"
        case _:
            return repr(value)
