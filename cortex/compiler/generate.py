"""The compiler itself: from a model's lowered program through the passes to machine code.

`cortex.compile` imports this module where it has to compile: a kernel that is cached, or was saved, does without.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortex.compiler.pipeline import passes_for
from ragged.auto.choices import DEFAULT, Choices
from ragged.auto.machine import Grid
from ragged.codegen.target import TargetLike, grid_for, has_matrix_unit, parse_target
from ragged.compiled import generate
from ragged.compiled.generate import notes_of
from ragged.compiled.kernel import LoadedKernel
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.passes.pipeline import Step, run_passes


def lowering_steps(
    program: Program, threads: int, grid: Grid | None = None, choices: Choices = DEFAULT
) -> tuple[Step, ...]:
    """Return a program as each pass leaves it, the given one first and the one that code is made of last."""
    return run_passes(program, passes_for(threads, grid, choices))


def generate_kernel(
    program: Program, target: TargetLike, threads: int, choices: Choices = DEFAULT, *, rounded: bool = False
) -> LoadedKernel:
    """Compile a lowered program for at most so many threads, and load it. `rounded` is as in `passes_for`.

    Raises:
        UserError: the target is not known, no code can be generated for it, or this machine cannot run that.
        ScheduleError: the choices are not possible on this machine.
    """
    grid = grid_for(target)
    unit = rounded and grid is None and has_matrix_unit(parse_target(target))
    passes = passes_for(threads, grid, choices, rounded=rounded, unit=unit)
    return generate.generate_kernel((program,), passes, target, _listings)


_SCHEDULED = (
    "round_products",
    "default_schedule",
    "recycle_states",
    "read_vectors_in_place",
    "prefetch_rows",
)
"""The passes whose notes are the steps that loops were scheduled by."""


def _listings(steps: Sequence[Step]) -> dict[str, str]:
    return {
        "ilir": to_text(steps[0].program),
        "steps": "\n".join(notes_of(steps, *_SCHEDULED)),
        "checks": "\n".join(dict.fromkeys(notes_of(steps, "discharge_checks"))),
    }
