"""The programs of a ragged function: the kernel, and the preludes that run once for a batch's lengths."""

from __future__ import annotations

from dataclasses import replace

from ragged.api.schedule import RaggedSchedule
from ragged.compiled.work import work_program
from ragged.ir.expr import Buffer, Load, Role
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import Stmt
from ragged.ir.walk import all_expressions, written
from ragged.passes.drop_unused import called


def programs_of(schedule: RaggedSchedule) -> tuple[Program, ...]:
    """Return a schedule's program, and its preludes in the order in which they run.

    First come the preludes that fill tables, then those that check the kernel's assumptions and the divisors of
    extents, if there are any, and last the prelude that counts the work.
    """
    program, checks = without_checks(schedule.lower())
    checks = (*checks, *extent_checks(schedule))
    work = work_program(schedule.lowered.program)
    read = (*program.functions, *(each for part in (*checks, work) for each in part.functions))
    tables = schedule.preludes_of(replace(program, functions=tuple(dict.fromkeys(read))))
    return (program, *tables, *checks, work)


def extent_checks(schedule: RaggedSchedule) -> tuple[Program, ...]:
    """Return the program that checks the divisors of extents; none if all are constants."""
    body = schedule.lowered.extent_checks
    used = called(all_expressions(body))
    if not used:
        return ()
    known = (each for each in schedule.lowered.functions.tables.functions if each in used)
    stage = Stage(StageKind.KERNEL, body)
    return (Program(f"{schedule.lowered.program.name}_extents", tuple(known), (), (), (stage,)),)


def without_checks(program: Program) -> tuple[Program, tuple[Program, ...]]:
    """Split off a program's prelude as a program that depends on lengths alone.

    A prelude that accesses the kernel's buffers is not split off.
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
