"""unroll: code for each iteration of a loop."""

from __future__ import annotations

from ragged.ir.expr import Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import LoopKind
from ragged.transform.legality import require_constant, require_no_team
from ragged.transform.locate import the_loop, with_kind


def unroll(program: Program, loop: Var) -> Rewritten:
    """Generate code for each iteration of a loop, one after another; the program keeps the loop.

    before::

        for n in serial(4):
            t[n, i] += U[i, j] * v[n, j]

    after::

        for n in unrolled(4):
            t[n, i] += U[i, j] * v[n, j]

    `unroll_fully` puts the copies into the program.

    Raises:
        ScheduleError: there is no such loop, its extent is not constant, or it is a team's.
    """
    what = f"unroll: cannot unroll loop '{loop.name}'"
    old = the_loop(program, loop, "unroll")
    require_no_team(old, what)
    require_constant(
        old, what, f"split(program, {loop.name}, 4) first, or specialize it for the lengths that occur"
    )
    return with_kind(program, loop, LoopKind.UNROLLED)
