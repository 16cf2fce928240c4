"""reorder_stmts: put a statement after another one of its block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ragged.analysis.dependence import any_two, find_conflict
from ragged.analysis.site_of import is_named
from ragged.errors import ScheduleError
from ragged.ir.expr import Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import Block, Label, Stmt
from ragged.ir.walk import children
from ragged.transform.legality import labelled, refuse


def reorder_stmts(program: Program, statement: Label | Var, after: Label | Var) -> Rewritten:
    """Let a statement, or a loop, of a block come right after another one of it.

    before::

        for i in serial(256):
            t[i] = x[i] + y[i]
        for i in serial(256):
            u[i] = tanh(t[i])
        for i in serial(256):
            v[i] = x[i] * y[i]

    after `reorder_stmts(program, i, i)` of the last one and the first::

        for i in serial(256):
            t[i] = x[i] + y[i]
        for i in serial(256):
            v[i] = x[i] * y[i]
        for i in serial(256):
            u[i] = tanh(t[i])

    What does the same to different operands can stand together so, and be one loop (`reroll`, `fuse_horizontally`).

    Raises:
        ScheduleError: they are not two statements of one block; or the one that is moved and those that it passes are
            not proven to touch different elements.
    """
    what = f"reorder_stmts: cannot put '{statement.name}' after '{after.name}'"
    site = _block(program, statement, after)
    if site is None:
        raise ScheduleError(what, because="they do not stand side by side in one block")
    parts = list(children(site.stmt))
    start, end = (
        next(k for k, part in enumerate(parts) if is_named(part, name)) for name in (statement, after)
    )
    passed = parts[start + 1 : end + 1] if start < end else parts[end + 1 : start]
    one, others = _inside(site, [parts[start]]), _inside(site, passed)
    refuse(find_conflict(program, one, others, len(site.loops), any_two), what)
    moved = parts.pop(start)
    parts.insert(next(k for k, part in enumerate(parts) if is_named(part, after)) + 1, moved)
    return _ReplaceBlock(old=site.stmt, new=Block(tuple(parts))).program(program)


def _block(program: Program, *names: Label | Var) -> Site | None:
    """Return the block in which different statements have these names."""
    for site in sites(program):
        if isinstance(site.stmt, Block):
            found = {name for name in names for part in site.stmt.body if is_named(part, name)}
            if len(found) == len(names):
                return site
    return None


def _inside(block: Site, parts: Iterable[Stmt]) -> list[Site]:
    """Return where the labelled statements in parts of a block stand."""
    return [inner for part in parts for inner in labelled(Site(block.stage, part, block.around))]


@dataclass
class _ReplaceBlock(Rewriter):
    """Replaces a block by another."""

    old: Stmt = field(kw_only=True)
    new: Block = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        return self.new if stmt is self.old else super().stmt(stmt)
