"""vectorize: the iterations of a loop as the lanes of vectors."""

from __future__ import annotations

from ragged.errors import ScheduleError
from ragged.ir.expr import Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import Alloc, For, LoopKind, lanes_at_most
from ragged.ir.walk import statements
from ragged.transform.legality import require_constant, require_independent, require_no_team
from ragged.transform.locate import loop_site, with_kind


def vectorize(program: Program, loop: Var) -> Rewritten:
    """Run the iterations of a loop as the lanes of vectors: each statement for all of them at once.

    before::

        for i in serial(16):
            t[n, i] += U[i, j] * v[n, j]

    after::

        for i in vectorized(16):
            t[n, i] += U[i, j] * v[n, j]

    Raises:
        ScheduleError: there is no such loop, its extent is not constant, it is a team's or holds a loop or an
            allocation, or two iterations are not proven to touch different elements.
    """
    what = f"vectorize: cannot vectorize loop '{loop.name}'"
    site = loop_site(program, loop, "vectorize")
    old = site.stmt
    assert isinstance(old, For)
    require_no_team(old, what)
    if lanes_at_most(old) is None:
        require_constant(old, what, f"split(program, {loop.name}, 16) first, then vectorize the inner loop")
    for inner in statements(old.body):
        if isinstance(inner, For):
            raise ScheduleError(
                what,
                because=f"the loop '{inner.var.name}' stands in it",
                fix=f"reorder first, so that '{loop.name}' is innermost, or unroll_fully '{inner.var.name}'",
            )
        if isinstance(inner, Alloc):
            raise ScheduleError(
                what,
                because=f"the local buffer '{inner.buffer.name}' is allocated in it",
                fix="expand_storage first, so that every lane has a place of its own",
            )
    require_independent(program, site, what)
    return with_kind(program, loop, LoopKind.VECTORIZED)
