"""From a model's program to the one that code is generated from: the passes, in order, with their reasons."""

from __future__ import annotations

from cortex.ilir.insert_order_checks import insert_order_checks
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.machine import this_machine
from ragged.passes.contract_storage import contract_storage
from ragged.passes.discharge_checks import discharge_checks
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.passes.insert_bound_checks import insert_bound_checks
from ragged.passes.pipeline import Pass
from ragged.passes.serialize_loops import serialize_loops

PASSES = (
    Pass(insert_order_checks, "first, while the loops over nodes are as lowering left them"),
    Pass(insert_bound_checks, "on the program as the model says it: every access is still at its node"),
    Pass(discharge_checks, "next, so that no later pass carries a check that facts prove"),
    Pass(serialize_loops, "one worker runs the kernel; before storage is shared between iterations"),
    Pass(contract_storage, "when no pass any more needs temporaries of all nodes side by side"),
    Pass(DefaultSchedule(this_machine()), "on small storage, and while sums are still reductions"),
    Pass(fuse_multiply_add, "last: it says how sums round, the same for every schedule before it"),
)
