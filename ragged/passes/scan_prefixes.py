"""Compute reductions of prefixes, as cumulative sums, each from the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.buffers import sharing
from ragged.arith.affine import AffineForm, affine
from ragged.arith.fold import ZERO
from ragged.ir.expr import Binary, Const, Expr, Fma, Load, Ref, Select, Var
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten, substitute
from ragged.ir.sites import Enclosing, Site, sites
from ragged.ir.stmt import Block, For, LoopKind, Reduce, Stmt, Store, block
from ragged.ir.walk import leaves, loads, mentions, written


def scan_prefixes(program: Program) -> Rewritten:
    """Compute each reduction of a prefix from that of the prefix before, of one element less.

    before::

        for i in parallel(M):
            for j in parallel(N):
                y[i, j] = 0.0
                for k in serial(j + 1):
                    y[i, j] += x[i, k]

    after::

        for i in parallel(M):
            for j in serial(N):
                y[i, j] = (y[i, j - 1] if 0 < j else 0.0) + x[i, j]

    What is reduced is the same for all prefixes, and the order of each stays: a result has the same bits. The loop over
    prefixes is serial. Comes before loops are changed.
    """
    found = [scan for site in sites(program) if (scan := _scan(program, site)) is not None]
    return _Scan(scans=found).program(program, kinds=(StageKind.KERNEL,))


@dataclass(frozen=True, slots=True, eq=False)
class _Prefix:
    """A reduction by a loop over so many elements, `axis`, as the iteration of the loop over `prefixes` says."""

    prefixes: Var
    axis: For
    init: Store
    update: Reduce

    def store(self) -> Stmt:
        """Return the reduction as one store, which comes in the place of `init`."""
        update, buffer = self.update, self.update.buffer
        before = tuple(substitute(each, {self.prefixes: _one_less(self.prefixes)}) for each in update.indices)
        is_later = Binary(BinaryOp.LT, ZERO, Ref(self.prefixes))
        so_far: Expr = Select(is_later, Load(buffer, before), self.init.value)
        last = substitute(update.value, {update.axes[0]: Ref(self.prefixes)})
        match last:
            case Binary(op=BinaryOp.MUL | BinaryOp.DOT, lhs=lhs, rhs=rhs) if (
                update.combiner is Combiner.SUM and buffer.dtype.is_float
            ):
                value: Expr = Fma(lhs, rhs, so_far, last.at)  # as `fuse_multiply_add` rounds other sums
            case _:
                value = Binary(update.combiner.op, so_far, last, update.at)
        return Store(update.label, buffer, update.indices, value, update.at)


def _one_less(var: Var) -> Expr:
    return Binary(BinaryOp.SUB, Ref(var), Const(1))


def _scan(program: Program, site: Site) -> _Prefix | None:
    """Return the reduction of a prefix at a site, or None."""
    update = site.stmt
    if site.stage.kind is not StageKind.KERNEL or not isinstance(update, Reduce) or len(update.axes) != 1:
        return None
    around, axis = site.around[:-1], site.around[-1]
    body = around[-1].body if around and isinstance(around[-1], For) else None
    if not (isinstance(axis, For) and axis.body is update and isinstance(body, Block)):
        return None
    place = next(n for n, part in enumerate(body.body) if part is axis)
    init = body.body[place - 1] if place else None
    if not isinstance(init, Store):
        return None
    prefixes = _prefixes(around, body, axis)
    if prefixes is None or mentions(update.value, (prefixes.var,)) or mentions(init.value, (prefixes.var,)):
        return None
    same = init.buffer is update.buffer and init.indices == update.indices
    own = any(mentions(each, (prefixes.var,)) for each in update.indices)
    read = {each.buffer for each in loads(update.value, init.value)}
    writers = [leaf for leaf in leaves(program.kernel) if update.buffer in written(leaf)]
    if (
        not (same and own)
        or read & written(prefixes)
        or len(writers) != 2
        or sharing(program, update.buffer) is not None
    ):
        return None
    return _Prefix(prefixes.var, axis, init, update)


def _prefixes(around: Sequence[Enclosing], body: Block, axis: For) -> For | None:
    """Return the loop that says how many elements the loop over `axis` reduces, with loops alone inside of it."""
    inner: Stmt = body
    inside: list[For] = []
    for outer in reversed(around):
        if not isinstance(outer, For) or outer.body is not inner or outer.kind is LoopKind.VECTORIZED:
            return None
        rest = affine(axis.extent).plus(AffineForm({Ref(outer.var): 1}), -1)
        if rest == AffineForm(constant=1):
            return None if any(mentions(each.extent, (outer.var,)) for each in inside) else outer
        inside.append(outer)
        inner = outer
    return None


@dataclass
class _Scan(Rewriter):
    scans: list[_Prefix] = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        for scan in self.scans:
            if stmt is scan.init:
                return scan.store()
        axes = {id(scan.axis) for scan in self.scans}
        if isinstance(stmt, Block) and any(id(part) in axes for part in stmt.body):
            return self.stmt(block(*(part for part in stmt.body if id(part) not in axes)))
        new = super().stmt(stmt)
        if isinstance(new, For) and new.kind is LoopKind.PARALLEL and new.var in self._prefixes:
            return replace(new, kind=LoopKind.SERIAL)
        return new

    @property
    def _prefixes(self) -> set[Var]:
        return {scan.prefixes for scan in self.scans}
