"""Computes that depend on parameters and one integer payload: tables over the integer, filled at binding.

Rows are computed by the same statements, in the same order, as the computes that they replace, so that bits agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cortex.ilir.classes import Comparison
from cortex.ra import expr as ra
from cortex.ra.base import ModelTensor
from cortex.ra.lower.buffers import Buffers, TableKeys
from cortex.ra.lower.case_facts import CaseFacts, IntegerSet
from cortex.ra.lower.constants import Constants
from cortex.ra.lower.keys import shifted
from cortex.ra.lower.nests import Nests
from cortex.ra.lower.saved_reduction import Axis
from cortex.ra.lower.translate import ExprLowering, Point
from cortex.ra.tensor import Compute, InputTensor, NodeInput
from cortex.ra.walk import subexpressions
from ragged.ir.buffer_size import bytes_of
from ragged.ir.expr import Buffer, Const, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.stmt import For, Stmt, block


def only_looks_up(expr: ra.Expr) -> bool:
    """Return whether an expression selects an element of its operands without arithmetic."""
    match expr:
        case ra.Literal() | ra.Read(tensor=InputTensor() | NodeInput()):
            return True
        case ra.Read(tensor=Compute(body=body)):
            return only_looks_up(body)
        case ra.Where(condition=condition, if_true=if_true, if_false=if_false):
            reduces = any(isinstance(part, ra.DenseReduce) for part in subexpressions(condition))
            return not reduces and only_looks_up(if_true) and only_looks_up(if_false)
        case _:
            return False


@dataclass
class LookupTables:
    """Writes the tables of the computes in `keys`, as far as they are used.

    A source of such a compute that is the same everywhere is one of `constants`; one that only looks up is evaluated
    again; any other has a table too.
    """

    buffers: Buffers
    constants: Constants
    keys: dict[Compute, TableKeys] = field(default_factory=dict)
    made: dict[Compute, Buffer] = field(default_factory=dict)
    accumulators: list[Buffer] = field(default_factory=list)
    parts: list[Stmt] = field(default_factory=list)

    def holds(self, tensor: ModelTensor) -> bool:
        """Return whether a tensor is looked up in a table."""
        return tensor in self.keys

    def names(self) -> tuple[str, ...]:
        """Return the names of all buffers with a row for each key."""
        return tuple(buffer.name for buffer in (*self.made.values(), *self.accumulators))

    @property
    def bytes(self) -> int:
        """The bytes of all tables and of their accumulators."""
        return sum(map(bytes_of, (*self.made.values(), *self.accumulators)))

    def buffer(self, compute: Compute, keys: TableKeys | None = None) -> Buffer:
        """Return the table of a compute; `keys` are the reader's, for a compute that has none."""
        if compute not in self.made:
            keys = self.keys.get(compute, keys)
            assert keys is not None
            name = f"{self.buffers.model.names[compute]}_by_{keys.payload}"
            extents = tuple(Const(index.extent) for index in compute.indices)
            target = self.buffers.table(name, compute.dtype, keys, extents)
            filled = block(*self._filled(compute, target, keys))
            self.made[compute] = target
            self.parts.append(filled)
        return self.made[compute]

    def _filled(self, compute: Compute, target: Buffer, keys: TableKeys) -> Iterator[Stmt]:
        """Yield the loops over the rows for nodes without the payload, and over those for nodes with it."""
        own = _TableRows(self, keys, compute, target)
        low, high = keys.carried
        for begin, end in ((keys.low, low), (low, high), (high, keys.high)):
            if begin < end:
                step, known = Var("v"), _known(keys, absent=(begin, end) != keys.carried)
                row, value = (shifted(Ref(step), each) for each in (begin - keys.low, begin))
                rows = _TableRowNests(self.buffers, known, own.result, row, value=value, own=own)
                yield For(step, Const(end - begin), rows.compute(compute, target))


def _known(keys: TableKeys, *, absent: bool) -> CaseFacts:
    """Return what is known of the payload in the rows for nodes without it (`absent`), or with it."""
    if not absent:
        low, high = keys.carried
        return CaseFacts(values={keys.payload: IntegerSet(low, high - 1)})
    default = keys.default
    tested = (Comparison(keys.payload, BinaryOp.EQ, default),)
    return CaseFacts(values={keys.payload: IntegerSet(default, default)}, tested=tested)


@dataclass
class _TableRows:
    """The table of one compute, `target`, and its sources and accumulators."""

    tables: LookupTables
    keys: TableKeys
    compute: Compute
    target: Buffer
    accumulators: dict[tuple[ra.Reduction, tuple[Axis, ...]], Buffer] = field(default_factory=dict)

    def result(self, tensor: ModelTensor) -> Buffer:
        """Return the buffer of another compute's values."""
        assert isinstance(tensor, Compute)
        constants = self.tables.constants
        if constants.everywhere.holds(tensor):
            return constants.buffer(constants.everywhere, tensor)
        return self.tables.buffer(tensor, self.keys)

    def accumulator(self, reduction: ra.Reduction, axes: tuple[Axis, ...], name: str) -> Buffer:
        """Return the accumulator of a reduction inside the compute: a buffer with as many rows."""
        if (reduction, axes) not in self.accumulators:
            extents = tuple(Const(axis.extent) for axis in axes if isinstance(axis, ra.IndexVar))
            buffer = self.tables.buffers.table(name, reduction.dtype, self.keys, extents)
            self.accumulators[reduction, axes] = buffer
            self.tables.accumulators.append(buffer)
        return self.accumulators[reduction, axes]


@dataclass(frozen=True, slots=True)
class _AtRow(ExprLowering):
    """Translates expressions in the row for the payload value `value`."""

    value: Expr = field(kw_only=True)

    def element(self, read: ra.Read, at: Point) -> Expr:
        match read.tensor:
            case NodeInput():
                return self.value
            case Compute(indices=indices, body=body) if only_looks_up(body):
                given = (index for index in read.indices if isinstance(index, ra.Expr))
                values = dict(zip(indices, (self.expr(index, at) for index in given), strict=True))
                return self.expr(body, Point(at.node, indices=values))
            case _:
                return ExprLowering.element(self, read, at)

    def key(self, payload: str, at: Point) -> Expr:
        return self.value


@dataclass
class _TableRowNests(Nests):
    """Writes the nests for row `node` of a table, for the payload's `value`.

    The first reduction over exactly the table's other axes accumulates in the table, and the finished value overwrites
    it. Any other has its own buffer.
    """

    value: Expr = field(kw_only=True)
    own: _TableRows = field(kw_only=True)
    taken: bool = field(init=False)

    def __post_init__(self) -> None:
        self.taken = isinstance(self.own.compute.body, ra.DenseReduce)
        self.translator = _AtRow(
            self.buffers, self.known, self.results, self.reduced, self.constant, self.zeros, value=self.value
        )

    def accumulator(self, reduction: ra.Reduction, axes: tuple[Axis, ...], name: str) -> Buffer:
        if not self.taken and axes == self.own.compute.indices:
            self.taken = True
            return self.own.target
        return self.own.accumulator(reduction, axes, name)
