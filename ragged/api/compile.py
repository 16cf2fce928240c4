"""`ragged.compile`: from a schedule of ragged operators to a function of arrays."""

from __future__ import annotations

from collections.abc import Mapping

from ragged.api.function import Made, RaggedFunction
from ragged.api.schedule import Schedule
from ragged.api.tensors import Tensor
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.machine import this_machine
from ragged.codegen.build import compile_program
from ragged.codegen.target import TargetLike
from ragged.errors import UserError
from ragged.ir.printer import to_text
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.passes.pipeline import Pass, run_passes
from ragged.runtime.team import check_workers


def compile(
    program: Schedule | Tensor,
    params: Mapping[str, object] | None = None,
    *,
    target: TargetLike = "cpu",
    threads: int | None = None,
) -> RaggedFunction:
    """Compile ragged operators for one machine and bind their parameters.

    Args:
        program: a schedule, or the tensor to compute.
        params: the parameters by name, arrays of the declared shapes and dtypes. They are copied.
        target: "cpu" is this machine's processor; "llvm -mcpu=..." or TVM's dict names another.
        threads: the most threads that a call may use; None is one for each core that this process may use. The results
            have the same bits for any number.

    Returns:
        A function of arrays by name, for all lengths: see `RaggedFunction`.

    Raises:
        ScheduleError: the decisions of the schedule do not fit together.
        ModelError: the parameters are not the program's.
        UserError: the target or `threads` is not known.

    Example::

        f = ragged.compile(s)
        y = f(A=x)
    """
    schedule = program if isinstance(program, Schedule) else Schedule(program)
    if threads is not None and (type(threads) is not int or threads < 1):
        raise UserError(
            f"compile: threads={threads!r} leaves nobody to do the work", fix="a number from 1 up"
        )
    workers = check_workers(threads)
    steps = run_passes(
        schedule.lower(),
        (
            Pass(DefaultSchedule(this_machine(), workers), "what the user left open"),
            Pass(fuse_multiply_add, "last: it says how sums round, the same for every schedule before it"),
        ),
    )
    kernel = compile_program(steps[-1].program, target)
    preludes = tuple(compile_program(each, target).entries for each in schedule.preludes())
    listings = {
        "ragged": to_text(schedule.lowered.program),
        "schedule": "\n".join([schedule.log(), *steps[1].notes]),
        "loops": to_text(steps[-1].program),
        "prelude": "\n".join(map(to_text, schedule.preludes())),
    }
    made = Made(schedule.name, schedule.lowered.described, kernel.entries, preludes, workers, listings)
    return RaggedFunction(made, params or {})
