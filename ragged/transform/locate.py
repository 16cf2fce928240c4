"""Finding what a primitive is asked to change, and putting something else in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ragged.analysis.site_of import site_of
from ragged.errors import ScheduleError
from ragged.ir.expr import Expr, Var
from ragged.ir.index import contents
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import Block, For, LoopKind, Stmt
from ragged.ir.walk import statements


def loop_site(program: Program, loop: Var, primitive: str) -> Site:
    """Return where the loop over `loop` stands.

    Raises:
        ScheduleError: the program has no such loop; `primitive` names the caller.
    """
    found = site_of(program, loop)
    if found is not None:
        return found
    raise ScheduleError(
        f"{primitive}: the program has no loop '{loop.name}'",
        because="it was never there, or an earlier step put others in its place",
        fix="name a loop of this program: `s.loop(name)`",
    )


def the_loop(program: Program, loop: Var, primitive: str) -> For:
    """Return the loop over `loop`; `ScheduleError` as `loop_site`."""
    stmt = loop_site(program, loop, primitive).stmt
    assert isinstance(stmt, For)
    return stmt


def follow(program: Program, one: For, other: For) -> bool:
    """Return whether `other` stands directly after `one`."""
    suites = (s.body for stage in program.stages for s in statements(stage.body) if isinstance(s, Block))
    return any(a is one and b is other for body in suites for a, b in pairwise(body))


@dataclass
class Replace(Rewriter):
    """Puts what `change` makes of it in place of one loop; `change` may call `copied` and `copied_loop`."""

    loop: Var = field(kw_only=True)
    change: Callable[[For, Rewriter], Stmt] = field(kw_only=True)

    def expr(self, expr: Expr) -> Expr:
        """Return an expression as it is."""
        return expr

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement: the loop in question as a whole; what is not around it is shared, not rebuilt."""
        if isinstance(stmt, For) and stmt.var is self.loop:
            return self.change(stmt, self)
        return super().stmt(stmt) if self.loop in contents(stmt).loops else stmt


def with_kind(program: Program, loop: Var, kind: LoopKind) -> Rewritten:
    """Return the program with the loop over `loop` of that kind."""

    def change(found: For, owner: Rewriter) -> Stmt:
        return replace(found, kind=kind)

    return Replace(loop=loop, change=change).program(program)
