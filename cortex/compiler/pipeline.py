"""From a model's program to the one that code is generated from: the passes, in order, each with its reason."""

from __future__ import annotations

from dataclasses import replace

from cortex.ilir.insert_order_checks import insert_order_checks
from ragged.auto.default_schedule import ArrangeColumns, DefaultSchedule
from ragged.auto.machine import this_machine
from ragged.errors import ScheduleError
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.passes.contract_storage import contract_storage
from ragged.passes.discharge_checks import discharge_checks
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.passes.insert_bound_checks import insert_bound_checks
from ragged.passes.pipeline import Pass
from ragged.passes.serialize_loops import serialize_loops
from ragged.schedule.distribute_over_team import distribute_over_team


def share_out(program: Program) -> Rewritten:
    """Return the program for a team, or for one worker where that is refused, with the reason as a note."""
    try:
        return distribute_over_team(program)
    except ScheduleError as refusal:
        return replace(serialize_loops(program), notes=(f"one worker: {refusal}",))


_CHECKED = (
    Pass(insert_order_checks, "first, while the loops over nodes are as lowering left them"),
    Pass(insert_bound_checks, "on the program as the model says it: every access is still at its node"),
    Pass(discharge_checks, "next, so that no later pass carries a check that facts prove"),
)
_ONE = (
    Pass(serialize_loops, "one worker runs the kernel; before storage is shared between iterations"),
    Pass(contract_storage, "when no pass any more needs temporaries of all nodes side by side"),
)
_TEAM = (
    Pass(
        contract_storage,
        "first what is each iteration's own, so that nothing of it has to be proven independent",
    ),
    Pass(share_out, "on loops that are still parallel"),
    Pass(
        contract_storage, "again, now that iterations of one worker follow each other and may share storage"
    ),
)
_SCHEDULED = (
    Pass(DefaultSchedule(this_machine()), "on small storage, and while sums are still reductions"),
    Pass(fuse_multiply_add, "last: it says how sums round, the same for every schedule before it"),
)


def passes_for(threads: int) -> tuple[Pass, ...]:
    """Return the passes for a kernel that at most so many threads run."""
    return (
        *_CHECKED,
        Pass(ArrangeColumns(this_machine()), "before anything is shared out or made smaller"),
        *(_ONE if threads == 1 else _TEAM),
        *_SCHEDULED,
    )
