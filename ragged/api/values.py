"""Values of the Ragged API: an expression of the IR, and the tensors that it reads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ragged.errors import Location, ModelError
from ragged.ir.dtype import INDEX, DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import Binary, Buffer, Call, Cast, Const, Expr, Function, Select, Unary
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.printer import expr_text
from ragged.ir.walk import loads, subexpressions
from ragged.lang.operators import Operators
from ragged.lang.types import FLOAT as FLOAT
from ragged.lang.types import KEEPS_INTEGERS, binary_type, mixes_types, typed_number, unary_type


class ValueSource:
    """What a value reads: a tensor, a reduction or a length function."""

    __slots__ = ()


class Symbol(Operators["Value", "ValueLike"]):
    """What stands for a value: an expression, or the index along a dimension."""

    __slots__ = ()
    _front_end = "ragged"
    _reductions = "ragged.sum, ragged.max or another reduction, over a dim"

    @property
    @abstractmethod
    def value(self) -> Value:
        """The value."""

    def _with(self, op: BinaryOp, other: ValueLike) -> Value:
        return binary(op, self, other)

    def _after(self, op: BinaryOp, other: ValueLike) -> Value:
        return binary(op, other, self)

    def _under(self, op: UnaryOp | Elementwise) -> Value:
        return unary(op, self)

    def _choose(self, if_true: ValueLike, if_false: ValueLike) -> Value:
        return select(self, if_true, if_false)

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
        """BOOL, INDEX for all integers, FLOAT32 or FLOAT64."""
        return self.expr.dtype

    def trimmed(self) -> Value:
        """Return it with the sources that its expression reads alone."""
        used: set[Buffer | Function] = {part.buffer for part in loads(self.expr)}
        used |= {part.function for part in subexpressions(self.expr) if isinstance(part, Call)}
        return Value(self.expr, {key: source for key, source in self.sources.items() if key in used})

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


def as_number(value: ValueLike) -> Value:
    """Return the value, a number; truth values are refused."""
    own = lift(value)
    if own.dtype is DType.BOOL:
        raise mixes_types(own.text(), "a number is needed here", "ragged.where(condition, 1.0, 0.0)")
    return own


def as_float(value: ValueLike) -> Value:
    """Return the value as a float: integers are cast to float32, truth values refused."""
    own = as_number(value)
    return own if own.dtype.is_float else converted(own, FLOAT)


def converted(value: Value, dtype: DType) -> Value:
    """Return a value in another type that is computed in."""
    if value.dtype is dtype:
        return value
    if isinstance(value.expr, Const) and dtype is not DType.BOOL:
        number = value.expr.value
        return Value(Const(float(number) if dtype.is_float else int(number), dtype))
    return Value(Cast(dtype, value.expr), value.sources)


def cast(value: ValueLike, dtype: str | DType) -> Value:
    """Return the value in another type, as C converts: to integers toward zero, to narrower ones by dropping bits.

    Integers are computed in int64: those of uint64 from 2**63 up are negative there, also where they become floats, and
    in comparisons, minima and maxima.

    Floats of 16 bits and narrow integers round, or wrap, and are computed with in float32 and int64.

    Example:
        >>> wide = cast(A[i], "float64")
    """
    stored, own = read_dtype("cast", dtype), lift(value)
    narrow = own if own.dtype is stored else Value(Cast(stored, own.expr, Location.capture()), own.sources)
    return converted(narrow, stored.computed)


def stored(value: Value, dtype: DType) -> Value:
    """Return a value as elements of a type are stored; `ModelError` for a number as a truth value, or the reverse."""
    if (value.dtype is DType.BOOL) != (dtype is DType.BOOL):
        raise mixes_types(
            value.text(), f"it is stored as {dtype.value}", "compare a number, or choose by `where`"
        )
    return value if value.dtype is dtype else Value(Cast(dtype, value.expr), value.sources)


def read_dtype(what: str, dtype: str | DType) -> DType:
    """Return the type of that name; `ModelError` if arrays cannot have it."""
    found = dtype if isinstance(dtype, DType) else next((d for d in DType if d.value == str(dtype)), None)
    if found is None or found is DType.BFLOAT16X2:
        names = ", ".join(each.value for each in DType if each is not DType.BFLOAT16X2)
        raise ModelError(f"{what}: dtype {dtype!r} is none of {names}", at=Location.capture())
    return found


def as_index(value: ValueLike, what: str) -> Value:
    """Return the value, an integer; `ModelError` if it is none."""
    own = lift(value)
    if own.dtype is not INDEX:
        raise ModelError(f"{what}: '{own.text()}' is no integer", at=Location.capture())
    return own


def binary(op: BinaryOp, lhs: ValueLike, rhs: ValueLike) -> Value:
    """Return `lhs op rhs`; `/` is of floats, `//` and `%` are of integers, `&` and `|` of truth values."""
    left, right = agree(lhs, rhs)
    if op is BinaryOp.DIV:
        left, right = as_float(left), as_float(right)
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


def check_integers(what: str, expr: Expr) -> None:
    """Raise `ModelError` if a constant integer of an expression is no int64."""
    for part in subexpressions(expr):
        if isinstance(part, Const) and part.dtype is INDEX and not -(2**63) <= part.value < 2**63:
            raise ModelError(
                f"{what}: {part.value} is no integer of 64 bits",
                at=Location.capture(),
                because="integers are computed in int64",
                fix="a float, as 2.0**63",
            )


def agree(lhs: ValueLike, rhs: ValueLike) -> tuple[Value, Value]:
    """Return both sides in one type: as integers if both are, in float64 if one is, else in float32.

    A literal takes the other side's type of floats; truth values stay.
    """
    left, right = lift(lhs), lift(rhs)
    if left.dtype is right.dtype:
        return left, right
    left, right = as_number(left), as_number(right)
    sides = [one.dtype for one in (left, right) if not isinstance(one.expr, Const)]
    dtype = DType.FLOAT64 if DType.FLOAT64 in sides else FLOAT
    return converted(left, dtype), converted(right, dtype)
