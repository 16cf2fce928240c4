"""Statements: loops, scopes, conditions and what stands in them.

Statements that do something carry a `Label`, their lasting identity; a loop, a let and an allocation are known
by what they bind. Labels, variables and buffers are compared by identity and each occurs once in a program.
The dims that a statement iterates and the regions that it touches follow from where it stands:
`ragged.ir.sites` reads them off.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeAlias

from ragged.errors import Location
from ragged.ir.expr import Binary, Buffer, Const, Dim, Expr, Load, Var
from ragged.ir.ops import BinaryOp, Combiner


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """A statement's identity; the name is for people."""

    name: str


class LoopKind(Enum):
    """How the iterations of a loop run.

    SERIAL: one after another. PARALLEL: independent of each other, in any order or at once. VECTORIZED,
    UNROLLED and TENSORIZED: as SERIAL, and say how code is generated; a nest of tensorized loops is sums of products
    on the processor's matrix unit, which adds up in an order of its own. TEAM: one iteration for each worker of a
    resident team; they run at once and meet at barriers. THREADS: a worker that is a block of threads, one iteration
    for each; they run at once, along with those of all other blocks.
    """

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unrolled"
    TENSORIZED = "tensorized"
    TEAM = "team"
    THREADS = "threads"


CONCURRENT = (LoopKind.PARALLEL, LoopKind.TEAM, LoopKind.THREADS)
"""The kinds of loops with concurrent iterations."""


class BarrierScope(Enum):
    """What a barrier synchronizes: all workers with all their threads, or the threads of one block."""

    TEAM = "team"
    BLOCK = "block"


class _Node:
    """What is computed once of a statement, by `ragged.ir.index` and `ragged.ir.walk`, when it is first asked for."""

    __slots__ = ("_index", "_read", "_written")

    _index: Contents
    _read: frozenset[Buffer]
    _written: frozenset[Buffer]


class Contents(NamedTuple):
    """The labels, the loops' variables and the allocated buffers in a statement, in the order of the text."""

    labels: tuple[Label, ...]
    loops: tuple[Var, ...]
    buffers: tuple[Buffer, ...]


@dataclass(frozen=True, slots=True)
class Store(_Node):
    """`buffer[indices] = value`."""

    label: Label
    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    at: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reduce(_Node):
    """`buffer[indices] = combiner(buffer[indices], value)`.

    `axes` are the loops around it that it reduces over, outermost first: they determine the order of the reduction.
    `init` is the value of the accumulator before the first iteration.
    """

    label: Label
    buffer: Buffer
    indices: tuple[Expr, ...]
    combiner: Combiner
    value: Expr
    axes: tuple[Var, ...]
    init: Expr
    at: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Check(_Node):
    """Ends the program unless `condition` holds, and reports `witness` with `message`; `{0}`.. name the witnesses."""

    label: Label
    condition: Expr
    message: str
    witness: tuple[Expr, ...] = ()
    at: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Barrier(_Node):
    """No worker or thread of `scope` continues before all have arrived; writes before it are visible after it."""

    label: Label
    scope: BarrierScope = BarrierScope.TEAM
    at: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Prefetch(_Node):
    """Evaluates `value`, an element of a buffer, and drops it: generated code asks for its cache line, and goes on."""

    label: Label
    value: Load
    at: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class For(_Node):
    """Runs `body` for `var` = 0 .. extent - 1; `dim` names what is iterated."""

    var: Var
    extent: Expr
    body: Stmt
    kind: LoopKind = LoopKind.SERIAL
    dim: Dim | None = None
    at: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Let(_Node):
    """Binds `var` to `value` in `body`."""

    var: Var
    value: Expr
    body: Stmt
    at: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Alloc(_Node):
    """Makes the LOCAL `buffer` live in `body`, for each time that it is reached; its contents start undefined."""

    buffer: Buffer
    body: Stmt
    at: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class If(_Node):
    """Runs `then` where `condition` holds, else `orelse` if there is one."""

    condition: Expr
    then: Stmt
    orelse: Stmt | None = None
    at: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Block(_Node):
    """Statements one after another; an empty one does nothing."""

    body: tuple[Stmt, ...] = ()
    at: Location | None = field(default=None, compare=False, repr=False)


Leaf: TypeAlias = Store | Reduce | Check | Barrier | Prefetch
Stmt: TypeAlias = Leaf | For | Let | Alloc | If | Block


def lanes_at_most(loop: For) -> int | None:
    """Return how many iterations a loop has at most: its extent, or the number in its minimum; None if neither is one.

    A vectorized loop has such an extent, and vectors of so many lanes.
    """
    match loop.extent:
        case Const(value=most) | Binary(op=BinaryOp.MIN, rhs=Const(value=most)):
            return int(most)
        case _:
            return None


def block(*statements: Stmt) -> Stmt:
    """Return the statements one after another, nested blocks flattened, and a single one as itself."""
    flat: list[Stmt] = []
    for statement in statements:
        flat.extend(statement.body if isinstance(statement, Block) else (statement,))
    return flat[0] if len(flat) == 1 else Block(tuple(flat))
