"""The compiler itself: from a lowered ragged program through the passes to machine code.

`ragged.compile` imports this module where it has to compile: a kernel that is cached does without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragged.api.compile_options import NOTHING_SET, CompileOptions
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.pair_products_bf16 import PairProductsBf16
from ragged.codegen.target import read_target, require_cpu
from ragged.codegen.target_features import has_matrix_unit, parse_target
from ragged.compiled import generate
from ragged.compiled.generate import notes_of
from ragged.compiled.kernel import LoadedKernel
from ragged.compiled.key import Recipe
from ragged.compiled.target_machine import machine_of
from ragged.ir.rule_record import rules_to_json
from ragged.machine import Machine
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.passes.hoist_checks import hoist_checks
from ragged.passes.pipeline import Pass, Step
from ragged.passes.scan_prefixes import scan_prefixes
from ragged.passes.serialize_loops import serialize_loops
from ragged.schedule.result import ScheduleResult, rules_of


def passes_for(threads: int, machine: Machine, options: CompileOptions = NOTHING_SET) -> tuple[Pass, ...]:
    """Return the passes for a kernel that at most so many threads run, from what the user's schedule left."""
    rounded = options.precision == "bf16"
    on_unit = options.schedule.on_unit(machine)
    if options.default_schedule:
        schedule = DefaultSchedule(machine, threads, options.schedule, options.shapes, options.code_bytes)
        scheduled: tuple[Pass, ...] = (
            Pass(
                hoist_checks, "before loops are changed: what a call gives is checked once for each element"
            ),
            Pass(
                scan_prefixes, "a cumulative sum takes one step from the one before; before loops are changed"
            ),
            Pass(schedule, "what the user left open"),
        )
    else:
        scheduled = (Pass(serialize_loops, "the loops as they are written, for one worker"),)
    return (
        *((Pass(PairProductsBf16(on_unit), "while sums are as the operators say them"),) if rounded else ()),
        *scheduled,
        Pass(fuse_multiply_add, "last: it says how sums round, the same for every schedule before it"),
    )


def generate_kernel(recipe: Recipe, options: CompileOptions = NOTHING_SET) -> LoadedKernel:
    """Compile a scheduled program and its preludes, and load them.

    Raises:
        UserError: the target is not known, or no code can be generated or linked for it.
    """
    target = read_target(recipe.target)
    if target is not None:
        require_cpu(target)
    unit = options.precision == "bf16" and has_matrix_unit(parse_target(recipe.target))
    machine = replace(machine_of(recipe.target), matrix_unit=unit)
    passes = passes_for(recipe.threads, machine, options)
    return generate.generate_kernel(recipe.programs, passes, recipe.target, _listings)


def _listings(steps: Sequence[Step]) -> dict[str, str]:
    return {
        "steps": "\n".join(notes_of(steps, "pair_products_bf16", "default_schedule")),
        "rules": rules_to_json(rules_of(step.result for step in steps)),
        "variants": "".join(s.result.variants for s in steps if isinstance(s.result, ScheduleResult)),
    }
