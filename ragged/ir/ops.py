"""The operators of expressions and reductions: closed lists that every consumer matches in full."""

from __future__ import annotations

from enum import Enum

import numpy as np

from ragged.ir.dtype import DType


class UnaryOp(Enum):
    """An operator of one operand that is not a function of `ragged.ir.elementwise`; its value is how it prints."""

    NEG = "-"
    NOT = "not"
    ABS = "abs"

    __hash__ = object.__hash__  # members are equal to themselves alone; Enum's hashes a name


class BinaryOp(Enum):
    """An operator of two operands; its value is how it prints.

    FLOORDIV and MOD round toward minus infinity and are for integers. `x // 0` is 0 and `x % 0` is x, so that neither
    faults wherever it is put; that no model divides by zero, checks see to. DIV is for floats. MIN and MAX are NaN
    if an operand is NaN, and the second operand of two zeros.

    PAIR rounds two float32 to bfloat16, each to the nearest, the even one of two that are as near, and DOT is the sum
    of the products of two such pairs, in float32: the product of the second ones is added to that of the first ones,
    which is exact.
    """

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    FLOORDIV = "//"
    MOD = "%"
    MIN = "min"
    MAX = "max"
    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    AND = "and"
    OR = "or"
    PAIR = "pair"
    DOT = "dot"

    __hash__ = object.__hash__  # members are equal to themselves alone; Enum's hashes a name

    @property
    def is_comparison(self) -> bool:
        """True if the result says how two numbers compare."""
        return self in _COMPARISONS

    @property
    def is_logical(self) -> bool:
        """True for AND and OR, which take BOOL operands."""
        return self in (BinaryOp.AND, BinaryOp.OR)


_COMPARISONS = frozenset(
    (BinaryOp.EQ, BinaryOp.NE, BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE),
)


class Combiner(Enum):
    """How a reduction folds a value into its accumulator; its value is how it prints."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"

    @property
    def op(self) -> BinaryOp:
        """The operator of the value and the accumulator."""
        match self:
            case Combiner.SUM:
                return BinaryOp.ADD
            case Combiner.PROD:
                return BinaryOp.MUL
            case Combiner.MAX:
                return BinaryOp.MAX
            case Combiner.MIN:
                return BinaryOp.MIN

    @property
    def identity(self) -> float:
        """The value that leaves every other as it is."""
        match self:
            case Combiner.SUM:
                return 0.0
            case Combiner.PROD:
                return 1.0
            case Combiner.MAX:
                return float("-inf")
            case Combiner.MIN:
                return float("inf")

    def identity_of(self, dtype: DType) -> float | int:
        """Return the identity in a type: of integers the least or largest one for MAX and MIN."""
        if dtype.is_float or self in (Combiner.SUM, Combiner.PROD):
            return self.identity if dtype.is_float else int(self.identity)
        limits = np.iinfo(dtype.value)
        return int(limits.min if self is Combiner.MAX else limits.max)
