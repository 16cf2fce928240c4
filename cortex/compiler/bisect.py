"""Which step of a schedule first changes a result: each step's program interpreted, and compared with the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, cast

from cortex.compiler.agreement import BOUND, relative_error
from cortex.compiler.interpret import Rows, interpreted_rows
from cortex.compiler.options import DEFAULT, RecursionOptions, scheduled
from cortex.compiler.pipeline import passes_for
from cortex.linearize import linearize
from cortex.ra.model import Model
from cortex.ra.oracle import evaluate
from cortex.ra.schedule import RecursionSchedule
from ragged.errors import UserError
from ragged.ir.interpret import Fault
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.schedule.loop_schedule import recorded_schedules


@dataclass(frozen=True, slots=True)
class CompileStep:
    """A program on its way to machine code: `name` is the pass, `code` the schedule's step within it, if it is one."""

    name: str
    code: str
    program: Program


@dataclass(frozen=True, slots=True)
class WrongStep:
    """The first step with a wrong program, the step before it, and the interpreter's finding."""

    step: CompileStep
    before: CompileStep
    fault: str

    def diff(self) -> str:
        """Return how the step changed the program, as a unified diff of both texts."""
        before, after = (to_text(each.program).splitlines() for each in (self.before, self.step))
        return "\n".join(unified_diff(before, after, "before", "after", lineterm="", n=2))


def compile_steps(
    program: Program, threads: int, options: RecursionOptions = DEFAULT
) -> Iterator[CompileStep]:
    """Yield the program that lowering left and that after each step of each pass of `cortex.compile`.

    A step that a rule took back is not among them. Schedules that a pass made to try something are.
    """
    yield CompileStep("lower", "", program)
    for each in passes_for(threads, None, options):
        with recorded_schedules() as schedules:
            program = each.run(program).program
        for schedule in schedules:
            for code, after in schedule.steps():
                yield CompileStep(each.name, code, after)
        yield CompileStep(each.name, "", program)


def bisect(
    model: Model | RecursionSchedule,
    params: dict[str, Any],
    structures: Sequence[object],
    *,
    threads: int = 2,
    options: RecursionOptions = DEFAULT,
    seeds: Sequence[int] = (0, 1),
    progress: Callable[[CompileStep, str | None], None] = lambda step, fault: None,
) -> WrongStep | None:
    """Find the first step of a compile after which the program computes something else; None if all are right.

    The program after each step is executed by the interpreter, in float32 and for a team of `threads` workers, once for
    each of the `seeds`, which decide the order of parallel iterations; its results at every node are compared with
    `ra.evaluate`. Steps are searched by halving: a step after a wrong one is taken to be wrong too. `progress` is told
    each step that was executed, and what is wrong with it.

    Raises:
        UserError: the lowered program, before any step, is wrong.
        ScheduleError: the options are not possible on this machine.
    """
    schedule = scheduled(model, options)
    linearized = linearize(schedule.plan(), list(structures))
    expected = cast(list[Rows], evaluate(schedule.model, params, list(structures)))
    steps = list(compile_steps(schedule.lower(), threads, options))
    faults: dict[int, str | None] = {}

    def fault_of(number: int) -> str | None:
        if number not in faults:
            step = steps[number]
            found = (_fault(step.program, linearized, params, expected, threads, seed) for seed in seeds)
            faults[number] = next((fault for fault in found if fault is not None), None)
            progress(step, faults[number])
        return faults[number]

    if (fault := fault_of(0)) is not None:
        raise UserError(
            f"bisect: the lowered program is wrong: {fault}", fix="look for the fault in the lowering"
        )
    right, wrong = 0, len(steps) - 1
    if fault_of(wrong) is None:
        return None
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if fault_of(middle) is None:
            right = middle
        else:
            wrong = middle
    fault = fault_of(wrong)
    assert fault is not None
    return WrongStep(steps[wrong], steps[right], fault)


def _fault(
    program: Program,
    linearized: Any,
    params: dict[str, Any],
    expected: Sequence[Rows],
    threads: int,
    seed: int,
) -> str | None:
    """Return what is wrong with a program, or None."""
    try:
        results = interpreted_rows(program, linearized, params, workers=threads, seed=seed)
    except (Fault, UserError) as raised:
        return f"{type(raised).__name__}: {raised}"
    for number, (rows, right) in enumerate(zip(results, expected, strict=True)):
        for name, array in rows.items():
            error = relative_error(array, right[name])
            if error > BOUND:
                return f"'{name}' of structure {number} is off by {error:.1e}; {BOUND:.0e} is allowed"
    return None
