"""Rules of stages: their order, and what each may touch."""

from __future__ import annotations

from collections.abc import Iterator, Set

from ragged.ir.checks.refusal import refusal
from ragged.ir.expr import Buffer, Call, Expr, Function, Load, Role
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import Reduce, Stmt, Store
from ragged.ir.walk import held, statements, subexpressions

_BIND_READS = (Role.PARAMETER, Role.BOUND, Role.LOCAL)
_READ_ONLY = (Role.PARAMETER, Role.PAYLOAD)


def check_stages(program: Program) -> None:
    """Stages come in the order of `StageKind`, each at most once, and the kernel is one of them."""
    kinds = [stage.kind for stage in program.stages]
    if StageKind.KERNEL not in kinds:
        raise refusal(program, None, "there is no kernel")
    order = list(StageKind)
    for before, stage in zip(program.stages, program.stages[1:], strict=False):
        if order.index(before.kind) >= order.index(stage.kind):
            raise refusal(program, stage, f"{stage.kind.value} cannot come after {before.kind.value}")


def check_writes(program: Program) -> None:
    """Parameters and payloads are never written; bound buffers in the bind stage, and it no others."""
    for stage in program.stages:
        for stmt in statements(stage.body):
            if isinstance(stmt, Store | Reduce):
                fault = _write_fault(stage, stmt.buffer)
                if fault is not None:
                    raise refusal(program, stmt, fault)


def check_bind(program: Program) -> None:
    """The bind stage uses what is there before any batch: parameters and their sizes, what is bound, expressions."""
    stage = program.stage(StageKind.BIND)
    if stage is None:
        return
    shapes = (each for buffer in program.buffers if buffer.role is Role.PARAMETER for each in buffer.shape)
    sizes = {part.function for each in shapes for part in subexpressions(each) if isinstance(part, Call)}
    for stmt in statements(stage.body):
        for fault in _unknown_when_binding(stmt, sizes):
            raise refusal(program, stmt, fault)


def _write_fault(stage: Stage, buffer: Buffer) -> str | None:
    binding = stage.kind is StageKind.BIND
    if buffer.role in _READ_ONLY:
        return f"the {buffer.role.value} '{buffer.name}' is written"
    if buffer.role is Role.BOUND and not binding:
        return f"'{buffer.name}' is bound before the {stage.kind.value}, and written in it"
    if binding and buffer.role not in (Role.BOUND, Role.LOCAL):
        return f"the bind stage writes '{buffer.name}', which lives for one call"
    return None


def _unknown_when_binding(stmt: Stmt, sizes: Set[Function]) -> Iterator[str]:
    for part in (part for expr in held(stmt) for part in subexpressions(expr)):
        match part:
            case Load(buffer=buffer) if buffer.role not in _BIND_READS:
                yield f"the bind stage reads '{buffer.name}', which lives for one call"
            case Call(function=function):
                for unknown in set(_not_expressions(function)) - sizes:
                    yield f"the bind stage uses '{unknown.name}', which is known at the call"
            case _:
                pass


def _not_expressions(function: Function) -> Iterator[Function]:
    """Yield the functions that `function` needs, itself among them, and that are no expressions."""
    if function.body is None:
        yield function
        return
    exprs: list[Expr] = [function.body, *(param.extent for param in function.params)]
    for part in (part for expr in exprs for part in subexpressions(expr)):
        if isinstance(part, Call):
            yield from _not_expressions(part.function)
