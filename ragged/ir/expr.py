"""Expressions: the values that statements store and the indices that they store at.

Nodes are immutable. Two expressions are equal when they have the same shape over the same symbols; the symbols
(`Dim`, `Var`, `Buffer`, `Function`) are compared by identity, never by name. The grammar of
expressions is the union `Expr` at the end of this file; consumers match it exhaustively.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

from ragged.errors import InternalError, Location
from ragged.ir.dtype import INDEX, DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.hash_once import HashedNode, hash_once
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.ops import BinaryOp, UnaryOp


@dataclass(frozen=True, slots=True, eq=False)
class Dim:
    """A named dimension: what a loop iterates and what a buffer is stored along."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Var:
    """A scalar bound once, by a loop, a let or a function's parameter list. A loop is known by its variable."""

    name: str
    dtype: DType = INDEX


class Source(Enum):
    """Where the values of an uninterpreted function come from."""

    EXPRESSION = "expression"  # its body does
    PRELUDE = "prelude"  # an array that the prelude fills
    INPUT = "input"  # an array, or a size, that comes with each batch: lengths, children
    PAYLOAD = "payload"  # an array of what the caller attached to nodes or rows
    CALL = "call"  # a number known at the call, which is not negative
    NUMBER = "number"  # a number known at the call, of either sign


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a function: it is defined for `0 <= var < extent`."""

    var: Var
    extent: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """An uninterpreted function of indices: a ragged bound, a batch's length, a node's left child, a size.

    `params` give its domain; one without parameters is a size. Unless it has a `body` (Source.EXPRESSION) its
    values stand in an array of `storage`, row-major over the parameters' extents, and are read as `dtype`.
    What is known of it stands in its program's facts.
    """

    name: str
    params: tuple[Param, ...]
    source: Source
    body: Expr | None = None
    dtype: DType = INDEX
    storage: DType = DType.INT32

    def __post_init__(self) -> None:
        if (self.body is not None) != (self.source is Source.EXPRESSION):
            raise InternalError(f"function '{self.name}': a body and Source.EXPRESSION go together")

    @property
    def is_size(self) -> bool:
        """True if it is a number handed to the kernel, not an array or an expression."""
        return not self.params and self.body is None

    @property
    def is_natural(self) -> bool:
        """True if it is a size that is not negative."""
        return self.is_size and self.source is not Source.NUMBER

    @property
    def is_array(self) -> bool:
        """True if its values stand in an array."""
        return bool(self.params) and self.body is None


class Role(Enum):
    """What a buffer is for: what fills it, and how long it lives.

    A parameter lives as long as the compiled function, a bound table likewise; a payload and a workspace for one
    call; the caller owns an output.
    """

    PARAMETER = "parameter"
    BOUND = "bound"
    PAYLOAD = "payload"
    OUTPUT = "output"
    WORKSPACE = "workspace"
    LOCAL = "local"


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """An array of `dtype` and `shape`, stored row-major over `order`, a permutation of its dimensions.

    A LOCAL buffer is allocated by an `Alloc` statement and lives as long as its body; every other one is declared by
    the program. `align` is the alignment in bytes that generated code may assume. What is written overlaps no
    other buffer, unless one `aliases` the other.
    """

    name: str
    dtype: DType
    shape: tuple[Expr, ...]
    role: Role
    dims: tuple[Dim | None, ...] = ()
    scope: MemoryScope = MemoryScope.GLOBAL
    order: tuple[int, ...] = ()
    align: int = 64
    aliases: Buffer | None = None

    def __post_init__(self) -> None:
        if not self.order:
            object.__setattr__(self, "order", tuple(range(len(self.shape))))
        if not self.dims:
            object.__setattr__(self, "dims", (None,) * len(self.shape))
        if sorted(self.order) != list(range(len(self.shape))):
            raise InternalError(f"buffer '{self.name}': {self.order} does not permute its dimensions")

    def order_of(self, kept: Sequence[int]) -> tuple[int, ...]:
        """Return the storage order of a buffer of the dimensions in `kept`, ordered as in this buffer."""
        return tuple(kept.index(dimension) for dimension in self.order if dimension in kept)

    def stacked(self, extent: Expr, dim: Dim | None = None) -> Buffer:
        """Return a buffer with one dimension more, which comes first, in memory too."""
        order = (0, *(dimension + 1 for dimension in self.order))
        return replace(self, shape=(extent, *self.shape), dims=(dim, *self.dims), order=order)


@hash_once
@dataclass(frozen=True, slots=True)
class Const(HashedNode):
    """A literal of `dtype`."""

    value: int | float | bool
    dtype: DType = INDEX
    at: Location | None = field(default=None, compare=False, repr=False)


@hash_once
@dataclass(frozen=True, slots=True)
class Ref(HashedNode):
    """The value of a variable."""

    var: Var
    at: Location | None = field(default=None, compare=False, repr=False)

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return self.var.dtype


@hash_once
@dataclass(frozen=True, slots=True)
class Load(HashedNode):
    """The element of `buffer` at `indices`, one for each dimension."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    at: Location | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.indices) != len(self.buffer.shape):
            raise InternalError(
                f"'{self.buffer.name}' has {len(self.buffer.shape)} dimensions, not {len(self.indices)}"
            )

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return self.buffer.dtype


@hash_once
@dataclass(frozen=True, slots=True)
class Call(HashedNode):
    """An uninterpreted function's value at `args`."""

    function: Function
    args: tuple[Expr, ...] = ()
    at: Location | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.args) != len(self.function.params):
            raise InternalError(
                f"'{self.function.name}' takes {len(self.function.params)} arguments, not {len(self.args)}"
            )

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return self.function.dtype


@hash_once
@dataclass(frozen=True, slots=True)
class Unary(HashedNode):
    """An operator of one operand."""

    op: UnaryOp | Elementwise
    operand: Expr
    at: Location | None = field(default=None, compare=False, repr=False)

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return self.operand.dtype


_OF_OPERATOR = {op: DType.BOOL for op in BinaryOp if op.is_comparison or op.is_logical} | {
    BinaryOp.PAIR: DType.BFLOAT16X2,
    BinaryOp.DOT: DType.FLOAT32,
}
"""The types of results that are not the operands'. A table: a compilation asks some ten thousand times."""


@hash_once
@dataclass(frozen=True, slots=True)
class Binary(HashedNode):
    """An operator of two operands of one dtype. AND and OR evaluate the right one only where it decides."""

    op: BinaryOp
    lhs: Expr
    rhs: Expr
    at: Location | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.lhs.dtype is not self.rhs.dtype:
            raise InternalError(f"'{self.op.value}' joins {self.lhs.dtype.value} and {self.rhs.dtype.value}")

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return _OF_OPERATOR.get(self.op) or self.lhs.dtype


@hash_once
@dataclass(frozen=True, slots=True)
class Fma(HashedNode):
    """`a * b + c`, rounded once.

    Of two pairs (BFLOAT16X2) and a float32 it is `fma(a1, b1, fma(a0, b0, c))`: the first ones' product is added first.
    Processors that do this in one step take a subnormal for zero, and give none.
    """

    a: Expr
    b: Expr
    c: Expr
    at: Location | None = field(default=None, compare=False, repr=False)

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return self.c.dtype


@hash_once
@dataclass(frozen=True, slots=True)
class Select(HashedNode):
    """`if_true` where `condition` holds, else `if_false`; the other one is not evaluated."""

    condition: Expr
    if_true: Expr
    if_false: Expr
    at: Location | None = field(default=None, compare=False, repr=False)

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return self.if_true.dtype


@hash_once
@dataclass(frozen=True, slots=True)
class Cast(HashedNode):
    """`operand` converted to `dtype`, as C does."""

    dtype: DType
    operand: Expr
    at: Location | None = field(default=None, compare=False, repr=False)


Expr: TypeAlias = Const | Ref | Load | Call | Unary | Binary | Fma | Select | Cast
