"""dispatch: copies of a loop for ranges of its extent, among which each call chooses."""

from __future__ import annotations

from itertools import pairwise

from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import For, If, Stmt
from ragged.transform.copy_stmts import Copier
from ragged.transform.legality import require_no_team, require_variable
from ragged.transform.locate import Replace, loop_site


def dispatch(program: Program, loop: Var, below: tuple[int, ...]) -> Rewritten:
    """Copy a loop for each range of extents that ends before one of `below`; the loop itself takes the rest.

    before::

        for n in serial(count):
            x[n] = 0.0

    after `dispatch(program, n, (2, 8))`::

        if count < 2:
            for n_lt2 in serial(count):
                x[n_lt2]: x.lt2 = 0.0
        elif count < 8:
            for n_lt8 in serial(count):
                x[n_lt8]: x.lt8 = 0.0
        else:
            for n in serial(count):
                x[n] = 0.0

    The ranges cover every extent, and no two overlap: each copy can have a schedule of its own, and where it stands its
    condition is known to proofs. These are the categories and the dispatcher of DietCode, section 4.3, in one program.
    The loop's forwarding is the copies in the order of `below`, after the loop itself.

    Raises:
        ScheduleError: there is no such loop, it is a team's, its extent is constant, or `below` are not ascending
            numbers from 1 up.
    """
    what = f"dispatch: cannot dispatch loop '{loop.name}' below {', '.join(map(str, below)) or 'nothing'}"
    old = loop_site(program, loop, "dispatch").stmt
    assert isinstance(old, For)
    require_no_team(old, what)
    require_variable(old, what)
    if not below or below[0] < 1 or any(a >= b for a, b in pairwise(below)):
        raise ScheduleError(what, fix="one or more ascending numbers, from 1 up")

    def change(found: For, owner: Rewriter) -> Stmt:
        copies = [(bound, Copier(owner=owner, suffix=f"lt{bound}").stmt(found)) for bound in below]
        chain: Stmt = found
        for bound, copy in reversed(copies):
            chain = If(Binary(BinaryOp.LT, found.extent, Const(bound)), copy, chain)
        return chain

    return Replace(loop=loop, change=change).program(program)
