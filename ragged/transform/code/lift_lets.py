"""lift_lets: move loop-invariant lets before a loop."""

from __future__ import annotations

from dataclasses import replace

from ragged.errors import ScheduleError
from ragged.ir.expr import Const, Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import For, Let, Stmt
from ragged.ir.walk import mentions
from ragged.transform.legality import require_fixed, require_no_team
from ragged.transform.locate import Replace, loop_site


def lift_lets(program: Program, loop: Var) -> Rewritten:
    """Bind the lets directly in a loop, as far as they are the same for all iterations, before it.

    before::

        for i in serial(64):
            k_node = child(e)
            hs[i] += h[k_node, i]

    after::

        k_node = child(e)
        for i in serial(64):
            hs[i] += h[k_node, i]

    Raises:
        ScheduleError: there is no such loop, it is a team's, it may run never, its first let depends on it or it has
            none, or its body changes what the let reads.
    """
    what = f"lift_lets: cannot bind what stands in loop '{loop.name}' before it"
    site = loop_site(program, loop, "lift_lets")
    old = site.stmt
    assert isinstance(old, For)
    require_no_team(old, what)
    if not isinstance(old.extent, Const) or int(old.extent.value) < 1:
        raise ScheduleError(what, because="it may run never, and the value is known in it alone")
    lets: list[Let] = []
    body = old.body
    while isinstance(body, Let) and not mentions(body.value, (loop,)):
        lets.append(body)
        body = body.body
    if not lets:
        raise ScheduleError(what, because="it begins with no let that is the same for all iterations")
    require_fixed(body, [let.value for let in lets], what)

    def change(found: For, owner: Rewriter) -> Stmt:
        stmt: Stmt = replace(found, body=body)
        for let in reversed(lets):
            stmt = replace(let, body=stmt)
        return stmt

    return Replace(loop=loop, change=change).program(program)
