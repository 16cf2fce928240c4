"""Values of the Ragged API: an expression of the IR, and the tensors that it reads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ragged.errors import Location, ModelError
from ragged.ir.dtype import INDEX, DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import Binary, Buffer, Cast, Const, Expr, Function, Select, Unary
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.printer import expr_text
from ragged.lang.operators import Operators
from ragged.lang.types import FLOAT as FLOAT
from ragged.lang.types import KEEPS_INTEGERS, binary_type, mixes_types, typed_number, unary_type


class ValueSource:
    """What a value reads: a tensor, a reduction or a length function."""

    __slots__ = ()


class Symbol(Operators["Value", "ValueLike"]):
    """What stands for a value: an expression, or the index along a dimension."""

    __slots__ = ()

    @property
    @abstractmethod
    def value(self) -> Value:
        """The value."""

    def _with(self, op: BinaryOp, other: ValueLike) -> Value:
        return binary(op, self, other)

    def _after(self, op: BinaryOp, other: ValueLike) -> Value:
        return binary(op, other, self)

    def _under(self, op: UnaryOp) -> Value:
        return unary(op, self)

    def _branch(self) -> ModelError:
        return ModelError(
            f"'{self.value.text()}' decides a Python branch",
            at=Location.capture(),
            because="its value is known when the function runs, not while it is written",
            fix="ragged.where(condition, a, b)",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Value(Symbol):
    """A scalar at each point of the indices in scope.

    `sources` are the tensors, the reductions and the lengths that it reads, by what stands for them in `expr`.
    """

    expr: Expr
    sources: Mapping[Buffer | Function, ValueSource] = field(default_factory=dict)

    @property
    def value(self) -> Value:
        """Itself."""
        return self

    @property
    def dtype(self) -> DType:
        """BOOL, INDEX for all integers, or FLOAT32."""
        return self.expr.dtype

    def text(self) -> str:
        """Return the expression in infix."""
        return expr_text(self.expr)

    def __repr__(self) -> str:
        return self.text()


ValueLike: TypeAlias = Symbol | float
"""What stands where a value is asked for: a value, a dimension, or a number of Python or NumPy."""


def lift(value: ValueLike) -> Value:
    """Return a number as a constant, a symbol as its value; `ModelError` for anything else."""
    return value.value if isinstance(value, Symbol) else Value(Const(*typed_number(value, repr, "A[b, t]")))


def as_float(value: ValueLike) -> Value:
    """Return the value as a float32: integers are cast, truth values refused."""
    own = lift(value)
    if own.dtype is DType.BOOL:
        raise mixes_types(own.text(), "a number is needed here", "ragged.where(condition, 1.0, 0.0)")
    if isinstance(own.expr, Const):
        return Value(Const(float(own.expr.value), FLOAT))
    return own if own.dtype.is_float else Value(Cast(FLOAT, own.expr), own.sources)


def as_index(value: ValueLike, what: str) -> Value:
    """Return the value, an integer; `ModelError` if it is none."""
    own = lift(value)
    if own.dtype is not INDEX:
        raise ModelError(f"{what}: '{own.text()}' is no integer", at=Location.capture())
    return own


def binary(op: BinaryOp, lhs: ValueLike, rhs: ValueLike) -> Value:
    """Return `lhs op rhs`; `/` is of floats, `//` and `%` are of integers, `&` and `|` of truth values."""
    left, right = (as_float(lhs), as_float(rhs)) if op is BinaryOp.DIV else agree(lhs, rhs)
    made = Binary(op, left.expr, right.expr, Location.capture())
    divisor = right.expr.value if isinstance(right.expr, Const) else None
    binary_type(op, left.dtype, divisor, lambda: expr_text(made))
    return Value(made, {**left.sources, **right.sources})


def unary(op: UnaryOp | Elementwise, value: ValueLike) -> Value:
    """Return `op value`; `~` is of truth values, negation and abs keep integers, all else is of floats."""
    operand = lift(value) if op is UnaryOp.NOT or op in KEEPS_INTEGERS else as_float(value)
    made = Unary(op, operand.expr, Location.capture())
    unary_type(op, operand.dtype, lambda: expr_text(made))
    return Value(made, operand.sources)


def select(condition: ValueLike, if_true: ValueLike, if_false: ValueLike) -> Value:
    """Return `if_true` where the condition holds, else `if_false`; only the one taken is evaluated."""
    chosen, (then, orelse) = lift(condition), agree(if_true, if_false)
    if chosen.dtype is not DType.BOOL:
        raise mixes_types(chosen.text(), "the condition is a number", "compare it: where(x != 0, ...)")
    expr = Select(chosen.expr, then.expr, orelse.expr, Location.capture())
    return Value(expr, {**chosen.sources, **then.sources, **orelse.sources})


def agree(lhs: ValueLike, rhs: ValueLike) -> tuple[Value, Value]:
    """Return both sides in one type: as integers if both are, as floats otherwise; truth values stay."""
    left, right = lift(lhs), lift(rhs)
    return (left, right) if left.dtype is right.dtype else (as_float(left), as_float(right))
