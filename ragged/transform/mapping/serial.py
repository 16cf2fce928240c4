"""serial: the iterations of a loop one after another."""

from __future__ import annotations

from ragged.errors import ScheduleError
from ragged.ir.expr import Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import LoopKind
from ragged.transform.locate import the_loop, with_kind


def serial(program: Program, loop: Var) -> Rewritten:
    """Run the iterations of a parallel loop one after another: loops inside of it are what is shared out then.

    before::

        for b in parallel((n + 7) // 8):
            for i in parallel(min(n - b * 8, 8)):
                t[b * 8 + i] = tanh(x[b * 8 + i])

    after `serial(program, b)`::

        for b in serial((n + 7) // 8):
            for i in parallel(min(n - b * 8, 8)):
                t[b * 8 + i] = tanh(x[b * 8 + i])

    Raises:
        ScheduleError: there is no such loop, or it is not parallel.
    """
    old = the_loop(program, loop, "serial")
    if old.kind is not LoopKind.PARALLEL:
        raise ScheduleError(
            f"serial: cannot run the iterations of loop '{loop.name}' one after another",
            because=f"it is {old.kind.value}, not parallel",
            fix="name a parallel loop",
        )
    return with_kind(program, loop, LoopKind.SERIAL)
