"""The syntax tree of a text of Tensor Comprehensions; each node knows its position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ragged.errors import Location


@dataclass(frozen=True, slots=True)
class NumberLiteral:
    """A number; one without a point or an exponent is an integer."""

    value: int | float
    at: Location


@dataclass(frozen=True, slots=True)
class Name:
    """An index, a size, a scalar parameter or a tensor without dimensions."""

    id: str
    at: Location


@dataclass(frozen=True, slots=True)
class Access:
    """`name(arguments)`: an element of a tensor, or a function of numbers."""

    name: str
    arguments: tuple[TcExpression, ...]
    at: Location


@dataclass(frozen=True, slots=True)
class Prefix:
    """`-` or `!` and an operand."""

    op: str
    operand: TcExpression
    at: Location


@dataclass(frozen=True, slots=True)
class Infix:
    """An operator between two operands."""

    op: str
    lhs: TcExpression
    rhs: TcExpression
    at: Location


@dataclass(frozen=True, slots=True)
class Conditional:
    """`condition ? if_true : if_false`."""

    condition: TcExpression
    if_true: TcExpression
    if_false: TcExpression
    at: Location


@dataclass(frozen=True, slots=True)
class Conversion:
    """`type(operand)`."""

    type: str
    operand: TcExpression
    at: Location


TcExpression: TypeAlias = NumberLiteral | Name | Access | Prefix | Infix | Conditional | Conversion


@dataclass(frozen=True, slots=True)
class RangeClause:
    """`where index in lower:upper`; the upper bound is exclusive."""

    index: str
    lower: TcExpression
    upper: TcExpression
    at: Location


@dataclass(frozen=True, slots=True)
class MembersClause:
    """`where index in children(node)`, of a recursive function: the index is each of these nodes."""

    index: str
    members: Access
    at: Location


@dataclass(frozen=True, slots=True)
class LetClause:
    """`where name = value`."""

    name: str
    value: TcExpression


@dataclass(frozen=True, slots=True)
class ExistsClause:
    """`where exists access`: the access bounds the indices in it."""

    access: Access
    at: Location


Clause: TypeAlias = RangeClause | MembersClause | LetClause | ExistsClause


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`target(indices) operator value where clauses`; a target without dimensions may stand without parentheses."""

    target: Name
    indices: tuple[Name, ...]
    operator: str
    value: TcExpression
    clauses: tuple[Clause, ...]
    at: Location


@dataclass(frozen=True, slots=True)
class CallStatement:
    """`targets = function(arguments)` for a function with several outputs."""

    targets: tuple[Name, ...]
    call: Access
    at: Location


Statement: TypeAlias = Comprehension | CallStatement


@dataclass(frozen=True, slots=True)
class Declaration:
    """A parameter or an output: its name, and its type and dimensions; an output may be a name alone.

    A dimension is a size name, a number, or an expression of sizes that are declared before it.
    """

    name: str
    type: str | None
    dims: tuple[TcExpression, ...]
    at: Location


@dataclass(frozen=True, slots=True)
class StructureDeclaration:
    """`tree n`, `dag(4) n` or `sequence n`: what a recursive function runs over, and the name of a node of it.

    `most` is the largest number of children, None for any.
    """

    kind: str
    most: int | None
    node: str
    at: Location


@dataclass(frozen=True, slots=True)
class Definition:
    """`def name(parameters) -> (outputs) { statements }`; a recursive one has a `structure` among its parameters."""

    name: str
    parameters: tuple[Declaration, ...]
    outputs: tuple[Declaration, ...]
    statements: tuple[Statement, ...]
    at: Location
    structure: StructureDeclaration | None = None
