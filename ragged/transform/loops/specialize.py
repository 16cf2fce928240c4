"""specialize: copies of a loop for the lengths that it often has."""

from __future__ import annotations

from dataclasses import replace

from ragged.arith.fold import ZERO
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Expr, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import For, If, Stmt
from ragged.prove import holds
from ragged.transform.copy_stmts import Copier
from ragged.transform.legality import require_no_team, require_variable
from ragged.transform.locate import Replace, loop_site


def specialize(program: Program, loop: Var, values: tuple[int, ...]) -> Rewritten:
    """Copy a loop for each of `values`, with that as its constant extent, and choose among the copies.

    before::

        for n in serial(count % 4):
            x[n] = 0.0

    after `specialize(program, n, (1, 2))`::

        if count % 4 == 1:
            for n_is1 in serial(1):
                x[n_is1]: x.is1 = 0.0
        elif count % 4 == 2:
            for n_is2 in serial(2):
                x[n_is2]: x.is2 = 0.0
        else:
            for n in serial(count % 4):
                x[n] = 0.0

    Where it is proven that the loop runs never or one of `values` times, no else is left. The loop's forwarding is the
    copies in the order of `values`, after the loop itself where it is left.

    Raises:
        ScheduleError: there is no such loop, it is a team's, its extent is constant, or `values` are not different
            numbers from 1 up.
    """
    what = f"specialize: cannot specialize loop '{loop.name}' for {', '.join(map(str, values)) or 'nothing'}"
    site = loop_site(program, loop, "specialize")
    old = site.stmt
    assert isinstance(old, For)
    require_no_team(old, what)
    require_variable(old, what)
    if not values or min(values) < 1 or len(set(values)) < len(values):
        raise ScheduleError(what, fix="one or more different numbers, from 1 up")
    known = holds(program, site, _one_of(old.extent, values))

    def change(found: For, owner: Rewriter) -> Stmt:
        return _chain(found, values, None if known else found, owner)

    return Replace(loop=loop, change=change).program(program)


def _one_of(extent: Expr, values: tuple[int, ...]) -> Expr:
    """Return that a loop of that extent runs never, or one of `values` times."""
    goal: Expr = Binary(BinaryOp.LE, extent, ZERO)
    for value in values:
        goal = Binary(BinaryOp.OR, goal, Binary(BinaryOp.EQ, extent, Const(value)))
    return goal


def _chain(old: For, values: tuple[int, ...], otherwise: Stmt | None, owner: Rewriter) -> Stmt:
    copies = []
    for value in values:
        copy = Copier(owner=owner, suffix=f"is{value}").stmt(old)
        assert isinstance(copy, For)
        copies.append(If(Binary(BinaryOp.EQ, old.extent, Const(value)), replace(copy, extent=Const(value))))
    chain: Stmt | None = otherwise
    for branch in reversed(copies):
        chain = replace(branch, orelse=chain)
    assert chain is not None, "there are values"
    return chain
