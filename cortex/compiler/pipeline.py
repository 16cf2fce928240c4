"""The passes from a model's program to the one that code is generated from, in order, each with its reason.

`cortex.compile` imports this module, and with it the compiler, only where it has to compile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cortex.compiler.scheduled_loops import ScheduledLoops
from cortex.ilir.check_classes import check_classes
from cortex.ilir.insert_order_checks import insert_order_checks
from cortex.ilir.read_vectors_in_place import read_vectors_in_place
from cortex.ilir.recycle_states import recycle_states
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.grid_schedule import GridSchedule
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.auto.pair_products_bf16 import PairProductsBf16
from ragged.codegen.target import TargetLike, grid_for
from ragged.codegen.target_features import has_matrix_unit, parse_target
from ragged.compiled import generate
from ragged.compiled.generate import notes_of
from ragged.compiled.kernel import LoadedKernel
from ragged.compiled.target_machine import machine_of
from ragged.errors import ScheduleError
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.rule_record import rules_to_json
from ragged.machine import Grid
from ragged.passes.discharge_checks import discharge_checks
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.passes.insert_checks import insert_checks
from ragged.passes.pipeline import Pass, Step
from ragged.passes.serialize_loops import serialize_loops
from ragged.schedule.result import rules_of

CHECKS: tuple[Pass, ...] = (
    Pass(insert_order_checks, "first, while the loops over nodes are as lowering left them"),
    Pass(insert_checks, "on the program as the model says it: every access is still at its node"),
    Pass(discharge_checks, "next, so that no later pass carries a check that facts prove"),
    Pass(check_classes, "with the facts that proofs used: loops over classes of nodes rely on more of them"),
)
"""The passes before all schedules of loops."""


def passes_for(
    threads: int,
    grid: Grid | None = None,
    options: ScheduleOptions = DEFAULT,
    *,
    rounded: bool = False,
    unit: bool = False,
    target: TargetLike = "cpu",
    checks: tuple[Pass, ...] = CHECKS,
) -> tuple[Pass, ...]:
    """Return the passes for a kernel of at most `threads` workers, or of a GPU's grid: `checks`, then the schedule.

    `rounded` rounds the factors of products with parameters to bfloat16; `unit` says whether the processor of `target`
    has a matrix unit for products of these.

    Raises:
        ScheduleError: the options are not possible on this machine, or there are any for a GPU's kernel.
    """
    machine = replace(machine_of(target), matrix_unit=unit)
    schedule = DefaultSchedule(machine, threads, options) if grid is None else GridSchedule(grid, machine)
    if grid is not None and options != DEFAULT:
        raise ScheduleError(
            "options: a kernel for a GPU takes none",
            because="they are about a processor's registers, caches and cores",
            fix="target='cpu'; a GPU's blocks and threads are said in the target",
        )
    on_unit = grid is None and options.on_unit(machine)
    return (
        *checks,
        *((Pass(PairProductsBf16(on_unit), "while sums are as the model says them"),) if rounded else ()),
        Pass(schedule, "while temporaries are whole and sums are reductions"),
        *(
            (
                Pass(recycle_states, "when all is scheduled: no two nodes have one row before"),
                Pass(read_vectors_in_place, "when all is scheduled: rows follow one another before"),
            )
            if grid is None
            else ()
        ),
        _ROUND,
    )


_ROUND = Pass(fuse_multiply_add, "last: it says how sums round, the same for every schedule before it")
AS_WRITTEN = (Pass(serialize_loops, "loops that no worker shares, for one worker"), _ROUND)
"""The passes of loops that the default schedule leaves as they are."""


def generate_kernel(
    program: Program,
    target: TargetLike,
    threads: int,
    options: ScheduleOptions = DEFAULT,
    *,
    rounded: bool = False,
    loops: ScheduledLoops | None = None,
    default_schedule: bool = True,
) -> LoadedKernel:
    """Compile and load a lowered program, or what `loops` made of it; without `default_schedule` as it is written.

    `threads` and `rounded` are as in `passes_for`.

    Raises:
        UserError: the target is not known, or no code can be generated or linked for it.
        ScheduleError: the options are not possible on this machine.
    """
    grid = grid_for(target)
    unit = rounded and grid is None and has_matrix_unit(parse_target(target))
    checks = CHECKS if loops is None else ()
    passes = (*checks, *AS_WRITTEN)
    if default_schedule:
        passes = passes_for(threads, grid, options, rounded=rounded, unit=unit, target=target, checks=checks)
    before = {} if loops is None else loops.listings()

    def listings(steps: Sequence[Step]) -> dict[str, str]:
        listed = _listings(steps)
        return {name: _joined(name, before, listed) for name in {**listed, **before}}

    return generate.generate_kernel((program,), passes, target, listings)


def _joined(name: str, before: Mapping[str, str], listed: Mapping[str, str]) -> str:
    """Return a listing of loops that were scheduled before: what they list themselves, and then further steps."""
    if name == "steps":
        return "\n".join(filter(None, (before.get(name), listed[name])))
    return before.get(name, listed[name])


_SCHEDULED = (
    "pair_products_bf16",
    "default_schedule",
    "recycle_states",
    "read_vectors_in_place",
)
"""The passes that note the schedule primitives they apply to loops."""


def _listings(steps: Sequence[Step]) -> dict[str, str]:
    return {
        "ilir": to_text(steps[0].program),
        "steps": "\n".join(notes_of(steps, *_SCHEDULED)),
        "rules": rules_to_json(rules_of(step.result for step in steps)),
        "checks": "\n".join(dict.fromkeys(notes_of(steps, "discharge_checks"))),
    }
