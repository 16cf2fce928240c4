"""Distribution of a kernel over a team, or one worker where that is refused."""

from __future__ import annotations

from ragged.errors import ScheduleError
from ragged.ir.expr import Var
from ragged.passes.serialize_loops import serialize_loops
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.mapping.distribute_over_team import distribute_over_team


def share_out(
    schedule: LoopSchedule,
    threads: int,
    min_rows_per_worker: int | None = None,
    replicated: tuple[Var, ...] = (),
    kept_parallel: tuple[Var, ...] = (),
) -> str | None:
    """Distribute a kernel over a team, or make it serial; return the reason if more workers were asked for.

    The last three arguments are the options of `distribute_over_team`.
    """
    reason = None
    if threads > 1:
        try:
            options = {
                "min_rows_per_worker": min_rows_per_worker,
                "replicated": replicated,
                "kept_parallel": kept_parallel,
            }
            given = {name: value for name, value in options.items() if value not in (None, ())}
            schedule.apply(distribute_over_team, **given)  # type: ignore[arg-type]
        except ScheduleError as refusal:
            reason = " ".join(str(refusal).split())
        else:
            return None
    schedule.apply(serialize_loops)
    return reason
