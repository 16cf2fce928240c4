"""fuse_horizontally: two loops that follow each other as one, over the iterations of the one and then of the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.analysis.dependence import any_two, find_conflict
from ragged.arith.fold import ZERO, at_least_zero, plus
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Expr, Ref, Var
from ragged.ir.fact import Fact
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import Block, For, If, Let, LoopKind, Stmt, block
from ragged.passes.assume import assume
from ragged.prove import Proof, answer
from ragged.transform.copy_stmts import Moved
from ragged.transform.legality import labelled, refuse, require_fixed
from ragged.transform.locate import follow, loop_site


def fuse_horizontally(program: Program, first: Var, second: Var) -> Rewritten:
    """Make one parallel loop of two that follow each other directly and have nothing to do with each other.

    before::

        for n in parallel(rows):
            x[n] = tanh(a[n])
        for m in parallel(columns):
            y[m] = tanh(b[m])

    after::

        for n_m in parallel(rows + columns):
            if n_m < rows:
                x[n_m] = tanh(a[n_m])
            else:
                m = n_m - rows
                y[m] = tanh(b[m])

    A team shares the iterations of both loops at once, which keeps all workers busy where neither loop alone does
    (CoRa's horizontal fusion). `reroll` does that for nests of one shape, without a condition. An extent that is not
    constant and may be negative is taken as `max(n, 0)`; the prelude checks the facts that prove it non-negative. Both
    loops are forwarded to the fused loop.

    Raises:
        ScheduleError: the second loop does not follow the first directly; they are not both parallel; one writes what
            how often they run depends on; or two iterations, one of each, are not proven to touch different elements.
    """
    what = f"fuse_horizontally: cannot make one of the loops '{first.name}' and '{second.name}'"
    before = loop_site(program, first, "fuse_horizontally")
    after = loop_site(program, second, "fuse_horizontally")
    one, other = before.stmt, after.stmt
    assert isinstance(one, For) and isinstance(other, For)
    if not follow(program, one, other):
        raise ScheduleError(what, because=f"'{second.name}' does not stand directly after '{first.name}'")
    for loop in (one, other):
        if loop.kind is not LoopKind.PARALLEL:
            raise ScheduleError(
                what,
                because=f"'{loop.var.name}' is {loop.kind.value}, and one loop of both has no order",
                fix=f"parallel({loop.var.name}) first, if its iterations are independent",
            )
    require_fixed(block(one, other), (one.extent, other.extent), what)
    refuse(find_conflict(program, labelled(before), labelled(after), len(before.loops), any_two), what)
    (early, facts), (late, others) = _count(program, before), _count(program, after)
    result = _FuseHorizontally(first=one, second=other, extents=(early, late)).program(program)
    return replace(result, program=assume(result.program, facts | others))


def _count(program: Program, site: Site) -> tuple[Expr, frozenset[Fact]]:
    """Return how many iterations the loop at `site` has, and by which facts."""
    assert isinstance(site.stmt, For)
    extent = site.stmt.extent
    found = answer(program, site, Binary(BinaryOp.LE, ZERO, extent))
    return (extent, found.facts) if isinstance(found, Proof) else (at_least_zero(extent), frozenset())


@dataclass
class _FuseHorizontally(Rewriter):
    """Replaces `first` by the fused loop, and removes `second`, the next statement."""

    first: For = field(kw_only=True)
    second: For = field(kw_only=True)
    extents: tuple[Expr, Expr] = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if stmt is self.second:
            return Block()
        return self._fused() if stmt is self.first else super().stmt(stmt)

    def _fused(self) -> Stmt:
        one, other = self.first, self.second
        fused = self.copied_loop(one.var, other.var.name)
        self.loop_copies.setdefault(other.var, []).append(fused)
        early = Moved(values={one.var: Ref(fused)}).stmt(one.body)
        late = Let(other.var, Binary(BinaryOp.SUB, Ref(fused), self.extents[0]), other.body, other.at)
        body = If(Binary(BinaryOp.LT, Ref(fused), self.extents[0]), early, late, one.at)
        dim = one.dim if one.dim is other.dim else None
        return replace(one, var=fused, extent=plus(*self.extents), body=body, dim=dim)
