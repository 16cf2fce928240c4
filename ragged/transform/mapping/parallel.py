"""parallel: run independent iterations in any order, or at once."""

from __future__ import annotations

from ragged.errors import ScheduleError
from ragged.ir.expr import Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import Barrier, For, LoopKind, Reduce
from ragged.ir.walk import statements
from ragged.transform.legality import require_independent, require_no_team
from ragged.transform.locate import loop_site, with_kind


def parallel(program: Program, loop: Var) -> Rewritten:
    """Let the iterations of a loop run in any order, or at once.

    before::

        for n in serial(batch_length(b)):
            h[batch_begin(b) + n] = tanh(h[left(batch_begin(b) + n)])

    after::

        for n in parallel(batch_length(b)):
            h[batch_begin(b) + n] = tanh(h[left(batch_begin(b) + n)])

    Raises:
        ScheduleError: there is no such loop; it is a team's, or holds a team or a barrier; a reduction goes over it;
            or two iterations are not proven to touch different elements.
    """
    what = f"parallel: cannot run the iterations of loop '{loop.name}' at once"
    site = loop_site(program, loop, "parallel")
    old = site.stmt
    assert isinstance(old, For)
    require_no_team(old, what)
    for inner in statements(old.body):
        match inner:
            case For(kind=LoopKind.TEAM, var=var):
                raise ScheduleError(what, because=f"the team of '{var.name}' stands in it")
            case Barrier(label=label):
                raise ScheduleError(what, because=f"a team meets in it, at '{label.name}'")
            case Reduce(label=label, axes=axes) if loop in axes:
                raise ScheduleError(
                    what,
                    because=f"'{label.name}' reduces over it, one iteration after another",
                    fix="reorder, and run a loop around the reduction at once",
                )
            case _:
                pass
    require_independent(program, site, what)
    return with_kind(program, loop, LoopKind.PARALLEL)
