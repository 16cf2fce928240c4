"""Compute reductions of prefixes, as cumulative sums, each from the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.buffers import sharing
from ragged.arith.affine import AffineForm, affine
from ragged.ir.expr import Binary, Const, Expr, Fma, Load, Ref, Select, Var
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten, Substitution, substitute
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

    What is reduced is the same for all prefixes, and the order of each stays: a result has the same bits. Elements may
    be left out at the end: of `k in serial(j)` the step is `y[i, j - 1] + x[i, j - 1] if 0 < j else 0.0`. An element of
    a prefix may itself be reduced, by loops inside of that over `k`: these stay. The loop over prefixes is serial.
    Comes before loops are changed.
    """
    found = [scan for site in sites(program) if (scan := _scan(program, site)) is not None]
    return _Scan(scans=found).program(program, kinds=(StageKind.KERNEL,))


@dataclass(frozen=True, slots=True, eq=False)
class _Prefix:
    """A reduction by a loop over elements, `axis`, and loops inside of it.

    There are as many elements as the number of the iteration of the loop over `prefixes` and one more, but for the
    `missing` ones.
    """

    prefixes: Var
    missing: int
    axis: For
    init: Store
    update: Reduce

    def step(self) -> Stmt:
        """Return the step from the prefix before, which comes in the place of `init` and `axis`."""
        update, buffer = self.update, self.update.buffer
        before = {self.prefixes: _before(self.prefixes, 1)}
        so_far: Expr = Load(buffer, tuple(substitute(each, before) for each in update.indices))
        if not self.missing:
            so_far = Select(self._is_after(0), so_far, self.init.value)
        values = {update.axes[0]: _before(self.prefixes, self.missing)}
        if len(update.axes) > 1:
            inner = _Last(values=values, update=update).stmt(self.axis.body)
            return block(replace(self.init, value=so_far), inner)
        last = substitute(update.value, values)
        match last:
            case Binary(op=BinaryOp.MUL | BinaryOp.DOT, lhs=lhs, rhs=rhs) if (
                update.combiner is Combiner.SUM and buffer.dtype.is_float
            ):
                value: Expr = Fma(lhs, rhs, so_far, last.at)  # as `fuse_multiply_add` rounds other sums
            case _:
                value = Binary(update.combiner.op, so_far, last, update.at)
        if self.missing:
            value = Select(self._is_after(self.missing - 1), value, self.init.value)
        return Store(update.label, buffer, update.indices, value, update.at)

    def _is_after(self, place: int) -> Expr:
        return Binary(BinaryOp.LT, Const(place), Ref(self.prefixes))


@dataclass
class _Last(Substitution):
    """Puts the place of the last element in the loops inside of a prefix, and goes on from what is stored."""

    update: Reduce = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        new = super().stmt(stmt)
        if stmt is self.update and isinstance(new, Reduce):
            return replace(new, axes=new.axes[1:], init=Load(new.buffer, new.indices))
        return new


def _before(var: Var, count: int) -> Expr:
    return Binary(BinaryOp.SUB, Ref(var), Const(count)) if count else Ref(var)


def _scan(program: Program, site: Site) -> _Prefix | None:
    """Return the reduction of a prefix at a site, or None."""
    update = site.stmt
    if site.stage.kind is not StageKind.KERNEL or not isinstance(update, Reduce):
        return None
    count = len(update.axes)
    around, axes = site.around[:-count], [each for each in site.around[-count:] if isinstance(each, For)]
    body = around[-1].body if around and isinstance(around[-1], For) else None
    if [each.var for each in axes] != list(update.axes) or not isinstance(body, Block):
        return None
    if any(outer.body is not inner for outer, inner in zip(axes, (*axes[1:], update), strict=True)):
        return None
    axis = axes[0]
    place = next(n for n, part in enumerate(body.body) if part is axis)
    init = body.body[place - 1] if place else None
    if not isinstance(init, Store):
        return None
    prefixes, missing = _prefixes(around, body, axis)
    if prefixes is None or (missing and count > 1):
        return None
    if any(
        mentions(each, (prefixes.var,)) for each in (update.value, init.value, *(e.extent for e in axes[1:]))
    ):
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
    return _Prefix(prefixes.var, missing, axis, init, update)


def _prefixes(around: Sequence[Enclosing], body: Block, axis: For) -> tuple[For | None, int]:
    """Return the loop that says how many elements the loop over `axis` reduces, with loops alone inside of it.

    With it how many of one more than the number of its iteration are left out.
    """
    inner: Stmt = body
    inside: list[For] = []
    for outer in reversed(around):
        if not isinstance(outer, For) or outer.body is not inner or outer.kind is LoopKind.VECTORIZED:
            break
        rest = affine(axis.extent).plus(AffineForm({Ref(outer.var): 1}), -1)
        if not rest.terms and rest.constant <= 1:
            depends = any(mentions(each.extent, (outer.var,)) for each in inside)
            return None if depends else outer, 1 - rest.constant
        inside.append(outer)
        inner = outer
    return None, 0


@dataclass
class _Scan(Rewriter):
    scans: list[_Prefix] = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        for scan in self.scans:
            if stmt is scan.init:
                return scan.step()
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
