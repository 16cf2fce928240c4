"""Statements as TIR."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from dataclasses import dataclass, field
from enum import Enum
from typing import assert_never

from ragged.analysis.dependence import storage
from ragged.analysis.matrix_nests import MatrixNest, matrix_nest
from ragged.analysis.transposed_tiles import transposed_tile
from ragged.codegen.entry import WITNESSES, CheckSite
from ragged.codegen.exprs import Expressions, TirBuffer, cast
from ragged.codegen.load_tvm import tirx
from ragged.codegen.local import elements_of
from ragged.codegen.names import identifier
from ragged.codegen.ops import PREFETCH, TirExpr, TirStmt, element_type, literal, stored_as
from ragged.codegen.team import Team, has_team, stop
from ragged.codegen.tiles import MatrixUnit
from ragged.codegen.vector import can_vectorize, fills_lanes, is_independent
from ragged.codegen.vector_copies import pair_row_of, transposed
from ragged.codegen.vector_rows import masked_row_stores, row_stores, stores_rows, stores_some_lanes
from ragged.errors import ScheduleError
from ragged.ir.buffer_size import MAX_FRAME_BYTES
from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Buffer, Const, Expr, Load, Var
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    For,
    If,
    Label,
    Let,
    LoopKind,
    Prefetch,
    Reduce,
    Stmt,
    Store,
)

ALIGN = 64
"""Bytes of a cache line, at multiples of which local buffers begin on the stack: no vector crosses one."""
STACK_ALIGN = 16
"""At multiples of how many bytes TVM puts an array on the stack, whatever it is asked for."""
_NOTHING: AbstractSet[Load] = frozenset()


class _Vectors(Enum):
    """What makes vector operations of a loop."""

    ROWS = "rows"
    SOME_LANES = "some lanes"
    BY_TVM = "by TVM"


@dataclass
class Statements:
    """Turns the statements of one stage into TIR; `sites` collects its checks, in the order they get their indices.

    `team` are the stage's workers if it has a team's loop; see `ragged.codegen.team`. `certain` is what
    `certain_loads` says of it.
    """

    expressions: Expressions
    status: TirBuffer
    team: Team | None
    certain: Mapping[int, AbstractSet[Load]] = field(default_factory=dict)
    sites: dict[Label, CheckSite] = field(default_factory=dict)
    stack_bytes: int = 0
    unit: MatrixUnit | None = None
    _vectors: dict[int, _Vectors | None] = field(default_factory=dict)

    def emit(self, stmt: Stmt, team: Team | None) -> list[TirStmt]:
        """Return `stmt` as TIR statements; `team` if all workers come here but only one is to run what stands here."""
        if team is not None and not has_team(stmt):
            return [team.alone(self.region(stmt, None))]
        emitted = self._emit(stmt, team)
        return [*self.expressions.bindings(), *emitted]

    def region(self, stmt: Stmt, team: Team | None) -> TirStmt:
        """Return `stmt`, which runs or does not run as a whole, as one TIR statement."""
        with self.expressions.region():
            return sequence(self.emit(stmt, team))

    def _emit(self, stmt: Stmt, team: Team | None) -> list[TirStmt]:
        match stmt:
            case Store(buffer=buffer, indices=indices, value=value):
                return [self._store(buffer, indices, self.expressions.emit(value))]
            case Reduce():
                return [self._reduce(stmt)]
            case Check():
                return [self._check(stmt)]
            case Barrier():
                assert self.team is not None, "a barrier stands in a team's loop"
                return [self.team.barrier()]
            case Prefetch():
                return self._prefetch(stmt)
            case For():
                return self._loop(stmt, team)
            case Let(var=var, value=value, body=body):
                bound = self._variable(var)
                binding = tirx.Bind(bound, self.expressions.emit(value))
                return [*self.expressions.bindings(), binding, *self.emit(body, team)]
            case Alloc(buffer=buffer, body=body):
                return [*self._allocate(buffer), *self.emit(body, team)]
            case If(condition=condition, then=then, orelse=orelse):
                decides = self.expressions.emit(condition)
                before = self.expressions.bindings()
                otherwise = None if orelse is None else self.region(orelse, team)
                return [*before, tirx.IfThenElse(decides, self.region(then, team), otherwise)]
            case Block(body=body) if team is not None:
                return self._together(body, team)
            case Block(body=body):
                return [emitted for inner in body for emitted in self.emit(inner, team)]
            case _:
                assert_never(stmt)

    def _together(self, body: tuple[Stmt, ...], team: Team) -> list[TirStmt]:
        """Return statements to which all workers come: they meet where a team's loop ends or begins."""
        result: list[TirStmt] = []
        for before, stmt in zip((None, *body), body, strict=False):
            if before is not None and (has_team(before) or has_team(stmt)):
                result.append(team.barrier())
            result.extend(self.emit(stmt, team))
        return result

    def _variable(self, var: Var) -> TirExpr:
        bound = tirx.Var(identifier(var.name), stored_as(var.dtype))
        self.expressions.variables[var] = bound
        return bound

    def _store(self, buffer: Buffer, indices: tuple[Expr, ...], value: TirExpr) -> TirStmt:
        if buffer.dtype is DType.BOOL:
            value = tirx.Cast(element_type(DType.BOOL), value)
        return tirx.BufferStore(
            self.expressions.storage[buffer], value, [self.expressions.offset(buffer, indices)]
        )

    def _reduce(self, stmt: Reduce) -> TirStmt:
        old = self.expressions.emit(Load(stmt.buffer, stmt.indices))
        value = self.expressions.emit(stmt.value)
        new = self.expressions.combine(stmt.combiner.op, old, value, stmt.buffer.dtype)
        return self._store(stmt.buffer, stmt.indices, new)

    def _check(self, check: Check) -> TirStmt:
        site = CheckSite(
            check.label.name, check.message, tuple(value.dtype for value in check.witness), check.at
        )
        self.sites.setdefault(check.label, site)
        index = list(self.sites).index(check.label)
        report = [self._report(0, literal(1 + index, INDEX))]
        with self.expressions.conditional():
            report += [
                self._report(WITNESSES + i, self._word(value)) for i, value in enumerate(check.witness)
            ]
        if self.team is not None:
            report = [self.team.first_failure(1 + index, sequence(report[1:]))]
        return tirx.IfThenElse(
            tirx.Not(self.expressions.emit(check.condition)), sequence([*report, stop()]), None
        )

    def _prefetch(self, stmt: Prefetch) -> list[TirStmt]:
        buffer = self.expressions.storage[stmt.value.buffer]
        place = tirx.BufferLoad(buffer, [self.expressions.offset(stmt.value.buffer, stmt.value.indices)])
        asked = tirx.call_intrin("int32", PREFETCH, tirx.address_of(place))
        return [*self.expressions.bindings(), tirx.Evaluate(asked)]

    def _report(self, place: int, word: TirExpr) -> TirStmt:
        return tirx.BufferStore(self.status, word, [literal(place, INDEX)])

    def _word(self, value: Expr) -> TirExpr:
        emitted = self.expressions.emit(value)
        if value.dtype.is_float:
            return tirx.reinterpret("int64", cast(emitted, value.dtype, DType.FLOAT64))
        return cast(emitted, value.dtype, DType.INT64)

    def _allocate(self, buffer: Buffer) -> list[TirStmt]:
        if buffer.aliases is not None:
            self.expressions.storage[buffer] = self.expressions.storage[storage(buffer)]
            return []
        elements = self._stack_elements(buffer)
        size, shape = elements * buffer.dtype.bytes, (elements,)
        name, dtype = identifier(buffer.name), element_type(buffer.dtype)
        if size <= STACK_ALIGN:
            flat = tirx.decl_buffer(shape, dtype, name, data_alignment=buffer.align, scope="local")
            allocated = [tirx.AllocBuffer(flat)]
        else:  # an array of vectors has the alignment of a vector
            memory = tirx.decl_buffer((-(-size // ALIGN),), f"int8x{ALIGN}", name, scope="local")
            flat = tirx.decl_buffer(
                shape, dtype, name, data=memory.data, data_alignment=buffer.align, scope="local"
            )
            allocated = [tirx.AllocBuffer(memory), tirx.DeclBuffer(flat, data=memory.data)]
        self.expressions.storage[buffer] = flat
        return allocated

    def _stack_elements(self, buffer: Buffer) -> int:
        """Return how many elements a local buffer has, one at least, and count them in."""
        count = elements_of(buffer)
        self.stack_bytes += count * buffer.dtype.bytes
        if self.stack_bytes > MAX_FRAME_BYTES:
            raise ScheduleError(
                f"local buffer '{buffer.name}' of {count * buffer.dtype.bytes} bytes does not fit on the stack",
                because=f"a stage may hold {MAX_FRAME_BYTES} bytes of local buffers",
                fix="a workspace that the program declares",
            )
        return max(count, 1)

    def _loop(self, loop: For, team: Team | None) -> list[TirStmt]:
        match loop.kind:
            case LoopKind.TEAM:
                assert self.team is not None, "the stage has a team's loop"
                self.expressions.variables[loop.var] = self.team.worker
                return self.emit(loop.body, None)
            case LoopKind.THREADS:
                raise ScheduleError(
                    f"the iterations of loop '{loop.var.name}' are the threads of a block, which a CPU has none of",
                    fix='target="cuda -arch=sm_90", or serial',
                )
            case LoopKind.SERIAL | LoopKind.UNROLLED if (tile := transposed_tile(loop)) is not None:
                return [transposed(tile, self.expressions)]
            case LoopKind.UNROLLED if isinstance(loop.extent, Const):
                return self._unrolled(loop, int(loop.extent.value), team)
            case LoopKind.VECTORIZED if (row := pair_row_of(loop, self.expressions)) is not None:
                return [row]
            case LoopKind.VECTORIZED if self._vectors_of(loop) is _Vectors.ROWS:
                return row_stores(loop, self.expressions)
            case LoopKind.VECTORIZED if self._vectors_of(loop) is _Vectors.SOME_LANES:
                return masked_row_stores(loop, self.expressions)
            case LoopKind.VECTORIZED if self._vectors_of(loop) is _Vectors.BY_TVM:
                return self._for(loop, tirx.ForKind.VECTORIZED, team)
            case LoopKind.TENSORIZED if isinstance(nest := matrix_nest(loop), MatrixNest):
                self.unit = self.unit or MatrixUnit.new()
                return [self.unit.multiply(nest, self.expressions)]
            case (
                LoopKind.SERIAL
                | LoopKind.PARALLEL
                | LoopKind.VECTORIZED
                | LoopKind.UNROLLED
                | LoopKind.TENSORIZED
            ):
                # iterations of a PARALLEL loop may come in any order: also one after another
                return self._for(loop, tirx.ForKind.SERIAL, team)
            case _:
                assert_never(loop.kind)

    def _vectors_of(self, loop: For) -> _Vectors | None:
        """Return how the loop becomes vector operations, decided once for all unrolled copies of it; None if not."""
        if id(loop) not in self._vectors:  # the stage keeps its loops alive
            if stores_some_lanes(loop):
                way = _Vectors.SOME_LANES if is_independent(loop) else None
            elif stores_rows(loop):
                way = _Vectors.ROWS if fills_lanes(loop) and is_independent(loop) else None
            else:
                way = _Vectors.BY_TVM if can_vectorize(loop, self.certain.get(id(loop), _NOTHING)) else None
            self._vectors[id(loop)] = way
        return self._vectors[id(loop)]

    def _for(self, loop: For, kind: tirx.ForKind, team: Team | None) -> list[TirStmt]:
        extent = self.expressions.emit(loop.extent)
        before, var = self.expressions.bindings(), self._variable(loop.var)
        # an index that is bound among lanes would be a vector, and what is read there be gathered
        lanes = self.expressions.conditional() if kind is tirx.ForKind.VECTORIZED else nullcontext()
        with lanes, self.expressions.region():
            around = self.expressions.certain
            self.expressions.certain = self.certain.get(id(loop), around)
            body = sequence(self._iteration(loop, team))
            self.expressions.certain = around
        return [*before, tirx.For(var, literal(0, INDEX), extent, kind, body)]

    def _iteration(self, loop: For, team: Team | None) -> list[TirStmt]:
        """Return the loop's body; workers that come to it together meet before the next iteration."""
        emitted = self.emit(loop.body, team)
        return emitted if team is None else [*emitted, team.barrier()]

    def _unrolled(self, loop: For, extent: int, team: Team | None) -> list[TirStmt]:
        copies: list[TirStmt] = []
        for iteration in range(extent):
            self.expressions.variables[loop.var] = literal(iteration, loop.var.dtype)
            with self.expressions.copies():
                copies.extend(self._iteration(loop, team))
        return copies


def sequence(emitted: list[TirStmt]) -> TirStmt:
    """Return TIR statements as one."""
    match emitted:
        case []:
            return tirx.Evaluate(tirx.IntImm("int32", 0))
        case [single]:
            return single
        case _:
            return tirx.SeqStmt(emitted)
