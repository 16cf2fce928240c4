"""version_loop: a copy of a loop for where a condition holds."""

from __future__ import annotations

from dataclasses import replace

from ragged.arith.fold import ZERO
from ragged.ir.expr import Binary, Expr, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import For, If, Stmt
from ragged.passes.assume import assume
from ragged.transform.copy_stmts import Copier
from ragged.transform.index_checks import require_index
from ragged.transform.legality import require_no_lanes
from ragged.transform.locate import Replace, loop_site


def version_loop(program: Program, loop: Var, lhs: Expr, rhs: Expr) -> Rewritten:
    """Copy a loop for where `lhs <= rhs`, two indices; the loop itself is for all else.

    before::

        for w in serial(64):
            x[w] = y[w] if w < count else 0.0

    after `version_loop(program, w, 64, count)`::

        if 64 <= count:
            for w_v in serial(64):
                x[w_v]: x.v = y[w_v] if w_v < count else 0.0
        else:
            for w in serial(64):
                x[w] = y[w] if w < count else 0.0

    In each copy the condition's outcome is known to proofs: `simplify_guards` removes from the first what asks whether
    a tile is whole. It is operation splitting (CoRa, section 4.1) inside a loop that stays one, such as a loop over the
    tiles of all rows. The forwarding is the loop itself, then the copy.

    Raises:
        ScheduleError: there is no such loop; it is vectorized or a team's; or an index names what is not there or is
            not proven to have a value.
    """
    what = f"version_loop: cannot copy loop '{loop.name}'"
    site = loop_site(program, loop, "version_loop")
    old = site.stmt
    assert isinstance(old, For)
    require_no_lanes(old, what, "version_loop first")
    facts = require_index(program, site, lhs, ZERO, what) | require_index(program, site, rhs, ZERO, what)
    condition = Binary(BinaryOp.LE, lhs, rhs)

    def change(found: For, owner: Rewriter) -> Stmt:
        return If(condition, Copier(owner=owner, suffix="v").stmt(found), found)

    result = Replace(loop=loop, change=change).program(program)
    return replace(result, program=assume(result.program, facts))
