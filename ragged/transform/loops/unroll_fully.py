"""unroll_fully: the iterations of a loop written out."""

from __future__ import annotations

from ragged.arith.fold import ZERO
from ragged.ir.expr import Const, Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import For, Stmt, block
from ragged.transform.copy_stmts import Copier, Moved
from ragged.transform.legality import require_constant, require_no_team
from ragged.transform.locate import Replace, the_loop


def unroll_fully(program: Program, loop: Var) -> Rewritten:
    """Put a copy of a loop's body for each of its iterations in its place.

    before::

        for n in serial(2):
            x[n * 4] = 0.0

    after::

        x[0]: x.at0 = 0.0
        x[4]: x.at1 = 0.0

    Nothing stands for the loop any more: its forwarding is empty, those of statements and loops in it are their copies.
    What runs once is not copied: it stays what it is. A reduction over it starts, from the second copy on, from what
    the one before has left.

    Raises:
        ScheduleError: there is no such loop, its extent is not constant, or it is a team's.
    """
    what = f"unroll_fully: cannot write out loop '{loop.name}'"
    old = the_loop(program, loop, "unroll_fully")
    require_no_team(old, what)
    count = require_constant(old, what, "specialize it for the lengths that occur")

    def change(found: For, owner: Rewriter) -> Stmt:
        if count == 1:
            return Moved(values={loop: ZERO}, axes={loop: ()}).stmt(found.body)
        return block(*(_iteration(found, number, owner) for number in range(count)))

    return Replace(loop=loop, change=change).program(program)


def _iteration(loop: For, number: int, owner: Rewriter) -> Stmt:
    variables = {loop.var: Const(number)}
    resumed = loop.var if number > 0 else None
    copier = Copier(
        owner=owner, suffix=f"at{number}", variables=dict(variables), axes={loop.var: ()}, resumed=resumed
    )
    return copier.stmt(loop.body)
