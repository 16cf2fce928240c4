"""Statements as TIR."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, assert_never

from tvm import tirx

from ragged.codegen.entry import CheckSite
from ragged.codegen.exprs import Expressions, TirBuffer, cast
from ragged.codegen.names import identifier
from ragged.codegen.ops import TirExpr, literal
from ragged.codegen.vector import can_vectorize, root
from ragged.errors import ScheduleError
from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Buffer, Const, Expr, Load, Var
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    For,
    If,
    Intrinsic,
    IntrinsicOp,
    Label,
    Let,
    LoopKind,
    Reduce,
    Stmt,
    Store,
)
from ragged.ir.walk import statements

TirStmt = Any
"""A tirx statement."""

STACK_BYTES = 256 * 1024
"""What a stage's local buffers may take of the stack; a thread has 8 MiB, or less where the host says so."""

_COMBINE = {
    Combiner.SUM: BinaryOp.ADD,
    Combiner.PROD: BinaryOp.MUL,
    Combiner.MAX: BinaryOp.MAX,
    Combiner.MIN: BinaryOp.MIN,
}


@dataclass
class Statements:
    """Turns the statements of one stage into TIR; `sites` collects its checks, in the order they get their indices.

    In a stage with a team loop every worker runs the loops, lets and conditions around it, and the first worker
    alone what stands beside it.
    """

    expressions: Expressions
    status: TirBuffer
    worker: TirExpr
    sites: dict[Label, CheckSite] = field(default_factory=dict)
    stack_bytes: int = 0

    def emit(self, stmt: Stmt, team: bool) -> list[TirStmt]:
        """Return `stmt` as TIR statements; `team` if all workers come here but only one is to run what stands here."""
        if team and not has_team(stmt):
            return [
                tirx.IfThenElse(
                    tirx.EQ(self.worker, literal(0, INDEX)), sequence(self.emit(stmt, False)), None
                )
            ]
        match stmt:
            case Store(buffer=buffer, indices=indices, value=value):
                return [self._store(buffer, indices, self.expressions.emit(value))]
            case Reduce():
                return [self._reduce(stmt)]
            case Check():
                return [self._check(stmt)]
            case Barrier():
                return []  # one worker never waits; the resident team brings more of them
            case Intrinsic(op=IntrinsicOp.PREFETCH, args=args):
                return [self._prefetch(args)]
            case For():
                return self._loop(stmt, team)
            case Let(var=var, value=value, body=body):
                bound = self._variable(var)
                binding = tirx.Bind(bound, self.expressions.emit(value))
                return [binding, *self.emit(body, team)]
            case Alloc(buffer=buffer, body=body):
                return [*self._allocate(buffer), *self.emit(body, team)]
            case If(condition=condition, then=then, orelse=orelse):
                otherwise = None if orelse is None else sequence(self.emit(orelse, team))
                return [
                    tirx.IfThenElse(
                        self.expressions.emit(condition), sequence(self.emit(then, team)), otherwise
                    )
                ]
            case Block(body=body):
                return [emitted for inner in body for emitted in self.emit(inner, team)]
            case _:
                assert_never(stmt)

    def _variable(self, var: Var) -> TirExpr:
        bound = tirx.Var(identifier(var.name), var.dtype.value)
        self.expressions.variables[var] = bound
        return bound

    def _store(self, buffer: Buffer, indices: tuple[Expr, ...], value: TirExpr) -> TirStmt:
        return tirx.BufferStore(
            self.expressions.storage[buffer], value, [self.expressions.offset(buffer, indices)]
        )

    def _reduce(self, stmt: Reduce) -> TirStmt:
        old = self.expressions.emit(Load(stmt.buffer, stmt.indices))
        value = self.expressions.emit(stmt.value)
        new = self.expressions.combine(_COMBINE[stmt.combiner], old, value, stmt.buffer.dtype)
        return self._store(stmt.buffer, stmt.indices, new)

    def _check(self, check: Check) -> TirStmt:
        site = CheckSite(
            check.label.name, check.message, tuple(value.dtype for value in check.witness), check.at
        )
        self.sites.setdefault(check.label, site)
        index = list(self.sites).index(check.label)
        words = [literal(1 + index, INDEX), *(self._word(value) for value in check.witness)]
        report = [tirx.BufferStore(self.status, word, [literal(i, INDEX)]) for i, word in enumerate(words)]
        stop = tirx.Return(tirx.IntImm("int32", 0))
        return tirx.IfThenElse(
            tirx.Not(self.expressions.emit(check.condition)), sequence([*report, stop]), None
        )

    def _word(self, value: Expr) -> TirExpr:
        emitted = self.expressions.emit(value)
        if value.dtype.is_float:
            return tirx.reinterpret("int64", cast(emitted, value.dtype, DType.FLOAT64))
        return cast(emitted, value.dtype, DType.INT64)

    def _prefetch(self, args: tuple[Expr, ...]) -> TirStmt:
        (element,) = args
        address = tirx.address_of(self.expressions.emit(element))
        read, keep, data = (tirx.IntImm("int32", value) for value in (0, 3, 1))
        return tirx.Evaluate(tirx.call_llvm_intrin("void", "llvm.prefetch", address, read, keep, data))

    def _allocate(self, buffer: Buffer) -> list[TirStmt]:
        if buffer.aliases is not None:
            self.expressions.storage[buffer] = self.expressions.storage[root(buffer)]
            return []
        flat = tirx.decl_buffer(
            (self._stack_elements(buffer),),
            buffer.dtype.value,
            identifier(buffer.name),
            data_alignment=buffer.align,
            scope="local",
        )
        self.expressions.storage[buffer] = flat
        return [tirx.AllocBuffer(flat)]

    def _stack_elements(self, buffer: Buffer) -> int:
        """Return how many elements a local buffer has, one at least, and count them in."""
        count = 1
        for extent in buffer.shape:
            if not isinstance(extent, Const):
                raise ScheduleError(
                    f"local buffer '{buffer.name}' has no constant size",
                    fix="a workspace that the program declares",
                )
            count *= int(extent.value)
        self.stack_bytes += count * buffer.dtype.bytes
        if self.stack_bytes > STACK_BYTES:
            raise ScheduleError(
                f"local buffer '{buffer.name}' of {count * buffer.dtype.bytes} bytes does not fit on the stack",
                because=f"a stage may hold {STACK_BYTES} bytes of local buffers",
                fix="a workspace that the program declares",
            )
        return max(count, 1)

    def _loop(self, loop: For, team: bool) -> list[TirStmt]:
        match loop.kind:
            case LoopKind.TEAM:
                self.expressions.variables[loop.var] = self.worker
                return self.emit(loop.body, False)
            case LoopKind.UNROLLED if isinstance(loop.extent, Const):
                return self._unrolled(loop, int(loop.extent.value), team)
            case LoopKind.VECTORIZED if can_vectorize(loop):
                return [self._for(loop, tirx.ForKind.VECTORIZED, team)]
            case LoopKind.SERIAL | LoopKind.PARALLEL | LoopKind.VECTORIZED | LoopKind.UNROLLED:
                # iterations of a PARALLEL loop may come in any order: also one after another
                return [self._for(loop, tirx.ForKind.SERIAL, team)]
            case _:
                assert_never(loop.kind)

    def _for(self, loop: For, kind: tirx.ForKind, team: bool) -> TirStmt:
        extent = self.expressions.emit(loop.extent)
        var = self._variable(loop.var)
        return tirx.For(var, literal(0, INDEX), extent, kind, sequence(self.emit(loop.body, team)))

    def _unrolled(self, loop: For, extent: int, team: bool) -> list[TirStmt]:
        copies: list[TirStmt] = []
        for iteration in range(extent):
            self.expressions.variables[loop.var] = literal(iteration, loop.var.dtype)
            copies.extend(self.emit(loop.body, team))
        return copies


def has_team(stmt: Stmt) -> bool:
    """Return whether there is a team loop in `stmt`."""
    return any(isinstance(inner, For) and inner.kind is LoopKind.TEAM for inner in statements(stmt))


def sequence(emitted: list[TirStmt]) -> TirStmt:
    """Return TIR statements as one."""
    match emitted:
        case []:
            return tirx.Evaluate(tirx.IntImm("int32", 0))
        case [single]:
            return single
        case _:
            return tirx.SeqStmt(emitted)
