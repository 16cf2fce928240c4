"""From a model's program to the one that code is generated from: the passes, in order, each with its reason."""

from __future__ import annotations

from cortex.ilir.insert_order_checks import insert_order_checks
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.machine import this_machine
from ragged.passes.discharge_checks import discharge_checks
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.passes.insert_bound_checks import insert_bound_checks
from ragged.passes.pipeline import Pass


def passes_for(threads: int) -> tuple[Pass, ...]:
    """Return the passes for a kernel that at most so many threads run."""
    return (
        Pass(insert_order_checks, "first, while the loops over nodes are as lowering left them"),
        Pass(insert_bound_checks, "on the program as the model says it: every access is still at its node"),
        Pass(discharge_checks, "next, so that no later pass carries a check that facts prove"),
        Pass(DefaultSchedule(this_machine(), threads), "while temporaries are whole and sums are reductions"),
        Pass(fuse_multiply_add, "last: it says how sums round, the same for every schedule before it"),
    )
