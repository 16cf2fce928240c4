"""A program's stage as a TIR function. See `ragged.codegen.entry` for its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragged.analysis.certain_loads import certain_loads
from ragged.analysis.dependence import storage
from ragged.codegen.entry import Argument, ArgumentKind, CheckSite, signature_of
from ragged.codegen.exprs import Expressions, TirBuffer
from ragged.codegen.integers import product
from ragged.codegen.load_tvm import PointerType, PrimType, tirx
from ragged.codegen.names import identifier
from ragged.codegen.ops import TirExpr, element_type
from ragged.codegen.stmts import Statements, sequence
from ragged.codegen.team import Team, check_team, has_team, shared_buffers
from ragged.errors import InternalError, ScheduleError
from ragged.ir.dtype import DType
from ragged.ir.expr import Call, Const, Function
from ragged.ir.program import Program, Stage
from ragged.ir.stmt import For, LoopKind
from ragged.ir.walk import statements


@dataclass(frozen=True, slots=True)
class StageFunction:
    """A stage in TIR: its symbol's name, the `tirx.PrimFunc`, and its checks in the order of their indices.

    `team` if it has a team's loop; `unit` if it asks for a matrix unit.
    """

    name: str
    function: Any
    checks: tuple[CheckSite, ...]
    team: bool
    unit: bool = False


def stage_function(program: Program, stage: Stage) -> StageFunction:
    """Return `stage` of `program` as a TIR function named `<program>_<stage>`.

    Raises `ScheduleError` for a local buffer that has no place on the stack, and for a team's loop in a place that
    workers cannot come to together.
    """
    return _Builder(program, stage).build()


def workers_of(program: Program) -> Function | None:
    """Return the size that is the number of workers: the extent of the program's team loops, if it has any."""
    extents = [
        stmt.extent
        for stage in program.stages
        for stmt in statements(stage.body)
        if isinstance(stmt, For) and stmt.kind is LoopKind.TEAM
    ]
    found: Function | None = None
    for extent in extents:
        match extent:
            case Const(value=1):
                pass
            case Call(function=function) if function.is_size and found in (None, function):
                found = function
            case _:
                raise ScheduleError(
                    f"program '{program.name}': a team loop's extent is not its number of workers",
                    because="it is neither one and the same size for all team loops of the program, nor 1",
                )
    return found


def symbol_name(program: Program, stage: Stage) -> str:
    """Return the name of a stage's function."""
    return f"{identifier(program.name)}_{stage.kind.value}"


class _Builder:
    """Builds one stage's function."""

    def __init__(self, program: Program, stage: Stage) -> None:
        self.program = program
        self.stage = stage
        self.workers = workers_of(program)
        self.expressions = Expressions()
        self.params: list[Any] = []
        self.declarations: list[Any] = []

    def build(self) -> StageFunction:
        signature = signature_of(self.program, self.workers)
        for argument in signature:
            if argument.kind is ArgumentKind.SIZE:
                assert isinstance(argument.symbol, Function)
                self.expressions.sizes[argument.symbol] = self._param(argument.name, DType.INT64)
        pointers = [
            (argument, self._pointer(argument))
            for argument in signature
            if argument.kind is not ArgumentKind.SIZE
        ]
        status = self._param_pointer("status", DType.INT64)
        worker, workers = self._param("worker", DType.INT64), self._param("workers", DType.INT64)
        if self.workers is not None:
            self.expressions.sizes[self.workers] = workers
        for argument, pointer in pointers:
            self.expressions.storage[argument.symbol] = self._declare(argument, pointer)
        self._declare_aliases()
        words = self._flat("status", DType.INT64, tirx.IntImm("int64", 1), status, 8)
        team = self._team(worker, workers, words) if has_team(self.stage.body) else None
        return self._finish(
            Statements(self.expressions, words, team, certain_loads(self.program, self.stage))
        )

    def _team(self, worker: TirExpr, workers: TirExpr, status: TirBuffer) -> Team:
        check_team(self.stage)
        shared = shared_buffers(self.program, self.stage)
        addresses = tuple(self.expressions.storage[buffer].data for buffer in shared)
        return Team(worker, workers, status, addresses)

    def _finish(self, emitter: Statements) -> StageFunction:
        body = [emitter.region(self.stage.body, emitter.team)]
        if emitter.unit is not None:
            body = [*emitter.unit.begin(), *body, emitter.unit.end()]
        name = symbol_name(self.program, self.stage)
        whole = sequence([*self.declarations, *body])
        # What is written overlaps no other buffer (`Buffer`), and a buffer's alias shares its pointer.
        function = tirx.PrimFunc(self.params, whole).with_attr({"global_symbol": name, "tirx.noalias": True})
        return StageFunction(
            name, function, tuple(emitter.sites.values()), emitter.team is not None, emitter.unit is not None
        )

    def _param(self, name: str, dtype: DType) -> TirExpr:
        self.params.append(tirx.Var(identifier(name), dtype.value))
        return self.params[-1]

    def _param_pointer(self, name: str, dtype: DType) -> TirExpr:
        self.params.append(tirx.Var(identifier(name), PointerType(PrimType(element_type(dtype)))))
        return self.params[-1]

    def _pointer(self, argument: Argument) -> TirExpr:
        return self._param_pointer(argument.name, argument.dtype)

    def _declare(self, argument: Argument, pointer: TirExpr) -> TirBuffer:
        size = product(self.expressions.emit(extent) for extent in argument.shape)
        return self._flat(argument.name, argument.dtype, size, pointer, argument.align)

    def _flat(self, name: str, dtype: DType, size: TirExpr, pointer: TirExpr, align: int) -> TirBuffer:
        buffer = tirx.decl_buffer(
            (size,), element_type(dtype), identifier(name), data=pointer, data_alignment=align
        )
        self.declarations.append(tirx.DeclBuffer(buffer, data=pointer))
        return buffer

    def _declare_aliases(self) -> None:
        for buffer in self.program.buffers:
            if buffer.aliases is not None:
                owner = storage(buffer)
                if owner.dtype is not buffer.dtype:
                    raise InternalError(f"buffer '{buffer.name}' aliases '{owner.name}' of another dtype")
                self.expressions.storage[buffer] = self.expressions.storage[owner]
