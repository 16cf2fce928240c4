"""The programs of a ragged function: its kernel's, and those that run once for a batch's lengths."""

from __future__ import annotations

from dataclasses import replace

from ragged.api.schedule import Schedule
from ragged.ir.expr import Buffer, Load, Role
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import Stmt
from ragged.ir.walk import all_expressions, written
from ragged.kernels.work import work_program
from ragged.passes.drop_unused import called


def programs_of(schedule: Schedule) -> tuple[Program, ...]:
    """Return a schedule's program, and its preludes in the order in which they run.

    First come those that fill tables, then the one that checks what the kernel assumes of them, if it assumes
    anything, and last the one that counts the work.
    """
    program, checks = without_checks(schedule.lower())
    work = work_program(schedule.lowered.program)
    read = (*program.functions, *(each for part in (*checks, work) for each in part.functions))
    tables = schedule.lowered.preludes(replace(program, functions=tuple(dict.fromkeys(read))))
    return (program, *tables, *checks, work)


def without_checks(program: Program) -> tuple[Program, tuple[Program, ...]]:
    """Return a program without its prelude, and the prelude as a program of its own: lengths alone decide how it ends.

    A prelude that has to do with the kernel's buffers stays where it is.
    """
    prelude = program.stage(StageKind.PRELUDE)
    if prelude is None:
        return program, ()
    kernel = replace(program, stages=tuple(each for each in program.stages if each is not prelude))
    used = _buffers(prelude.body)
    elsewhere = {buffer for stage in kernel.stages for buffer in _buffers(stage.body)}
    if used & elsewhere or any(buffer.role is not Role.WORKSPACE for buffer in used):
        return program, ()
    own = tuple(buffer for buffer in program.buffers if buffer in used)
    kernel = replace(kernel, buffers=tuple(buffer for buffer in program.buffers if buffer not in used))
    shapes = (extent for buffer in own for extent in buffer.shape)
    functions = called((*shapes, *all_expressions(prelude.body)))
    if not functions:
        return kernel, ()
    checks = Program(
        f"{program.name}_checks",
        tuple(function for function in program.functions if function in functions),
        own,
        (),
        (Stage(StageKind.KERNEL, prelude.body),),
    )
    return kernel, (checks,)


def _buffers(body: Stmt) -> set[Buffer]:
    return {e.buffer for e in all_expressions(body) if isinstance(e, Load)} | written(body)
