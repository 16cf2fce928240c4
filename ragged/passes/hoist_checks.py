"""Check data that a call gives before the kernel, once for each element, instead of in its inner loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.buffers import Pruner, appended
from ragged.arith.fold import ZERO
from ragged.ir.build import all_of, both
from ragged.ir.equal import equal_stmts
from ragged.ir.expr import Binary, Buffer, Expr, Ref, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewritten, substitute
from ragged.ir.sites import Site, path_to, sites
from ragged.ir.stmt import Block, Check, For, If, Label, Stmt
from ragged.ir.walk import conjuncts, loads, mentions, written
from ragged.passes.equalities import equated, with_value


def hoist_checks(program: Program) -> Rewritten:
    """Move checks of what the kernel does not write to the prelude, in the loops that they depend on alone.

    before::

        with kernel:
            for b in parallel(B):
                for d in parallel(D):
                    y[b, d] = 0.0
                    for l in serial(L):
                        check(0 <= rows[b, l] and rows[b, l] < E, ...)
                        y[b, d] += table[rows[b, l], d]

    after::

        with prelude:
            if D > 0:
                for b in serial(B):
                    for l in serial(L):
                        check(0 <= rows[b, l] and rows[b, l] < E, ...)
        with kernel:
            for b in parallel(B):
                for d in parallel(D):
                    y[b, d] = 0.0
                    for l in serial(L):
                        y[b, d] += table[rows[b, l], d]

    The same data are checked, and nothing is written before all of them are. Checks that depend on what the kernel
    computes stay, and so do those in loops with extents that read what it writes. Where a check is asked for one
    iteration of a loop, `rows[l] == e`, that one is in the place of the loop.
    """
    changed = written(program.kernel)
    nests: list[Stmt] = []
    moved: set[Label] = set()
    for site in sites(program):
        if site.stage.kind is StageKind.KERNEL and isinstance(site.stmt, Check):
            nest = _nest(site, changed)
            if nest is not None:
                moved.add(site.stmt.label)
                nests += [] if any(equal_stmts(nest, each) for each in nests) else [nest]
    rewriter = _Remove(labels=moved)
    without = rewriter.program(program).program
    for nest in nests:
        without = appended(without, StageKind.PRELUDE, nest)
    return rewriter.finish(program, without)


@dataclass
class _Remove(Pruner):
    """Takes out checks by their labels."""

    labels: set[Label] = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Check) and stmt.label in self.labels:
            return Block()
        return super().stmt(stmt)


def _nest(site: Site, changed: frozenset[Buffer]) -> Stmt | None:
    """Return the check in loops of its own; None if it depends on buffers that are `changed`."""
    check, path = site.stmt, path_to(site)
    assert isinstance(check, Check)
    condition, witness = path.expand(check.condition), tuple(map(path.expand, check.witness))
    needed: list[Expr] = [condition, *witness, *path.conditions]
    if any(part.buffer in changed for part in loads(*needed, *path.extents)):
        return None
    condition, ranges = _of_one_iteration(condition, path.ranges, (*witness, *path.conditions))
    needed[0] = condition
    loops: list[tuple[Var, Expr]] = []
    runs: Expr | None = None
    for var, extent in reversed(ranges):
        if any(mentions(each, (var,)) for each in needed) or mentions(extent, path.loops):
            loops.append((var, extent))
            needed.append(extent)
        else:
            runs = both(runs, Binary(BinaryOp.GT, extent, ZERO))
    new = {var: Var(var.name) for var, _ in loops}
    own: dict[Var, Expr] = {var: Ref(each) for var, each in new.items()}
    values = tuple(substitute(each, own) for each in witness)
    stmt: Stmt = Check(check.label, substitute(condition, own), check.message, values, check.at)
    for each in reversed(path.conditions):
        stmt = If(substitute(each, own), stmt)
    for var, extent in loops:
        stmt = For(new[var], substitute(extent, own), stmt)
    return stmt if runs is None else If(runs, stmt)


def _of_one_iteration(
    condition: Expr, ranges: Sequence[tuple[Var, Expr]], others: Sequence[Expr]
) -> tuple[Expr, list[tuple[Var, Expr]]]:
    """Return a check's condition, and the loops around it without those of which it is asked for one iteration.

    `others` are what the check has besides.
    """
    left = list(ranges)
    while isinstance(condition, Binary) and condition.op is BinaryOp.OR:
        asked, needed = condition.lhs, condition.rhs
        if not isinstance(asked, Unary) or asked.op is not UnaryOp.NOT:
            break
        conditions, extents = tuple(conjuncts(asked.operand)), dict(left)
        found = next(
            (
                each
                for each in equated(conditions, extents)
                if not any(mentions(x, (each[1],)) for x in (needed, *others, *extents.values()))
            ),
            None,
        )
        if found is None:
            break
        place, var, index = found
        asked = replace(asked, operand=all_of(with_value(conditions, place, var, index, extents[var])))
        condition = replace(condition, lhs=asked)
        left = [each for each in left if each[0] is not var]
    return condition, left
