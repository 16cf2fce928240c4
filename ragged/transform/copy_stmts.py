"""Statements under other loops, as they are or as a second copy with identities of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ragged.arith.fold import FoldedSubstitution
from ragged.ir.expr import Buffer, Expr, Load, Ref, Var
from ragged.ir.rewrite import Rewriter
from ragged.ir.stmt import Alloc, Barrier, Check, For, Let, Prefetch, Reduce, Stmt, Store


@dataclass
class Moved(FoldedSubstitution):
    """Puts statements under other loops: `values` is what a variable is there, `axes` what reductions name instead."""

    axes: Mapping[Var, tuple[Var, ...]] = field(default_factory=dict)
    buffers: dict[Buffer, Buffer] = field(default_factory=dict)

    def buffer(self, buffer: Buffer) -> Buffer:
        """Return the local buffer that replaces one with extents in other variables."""
        return self.buffers.get(buffer, buffer)

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement."""
        match stmt:
            case Reduce(axes=axes):
                stmt = replace(stmt, axes=tuple(b for a in axes for b in self.axes.get(a, (a,))))
            case Alloc(buffer=buffer):
                shape = self.exprs(buffer.shape)
                storage = None if buffer.aliases is None else self.buffer(buffer.aliases)
                if shape != buffer.shape or storage is not buffer.aliases:
                    self.buffers[buffer] = replace(buffer, shape=shape, aliases=storage)
            case _:
                pass
        return super().stmt(stmt)


@dataclass
class Copier(FoldedSubstitution):
    """Copies statements: loops, lets, local buffers and labels get new identities, recorded with `owner`.

    `variables` is what the variables of loops that are not copied are in the copy, `axes` what the copy's reductions
    name instead of those loops. A reduction over `resumed` starts in the copy from what its accumulator holds: others
    of its iterations came before.
    """

    owner: Rewriter = field(kw_only=True)
    suffix: str = field(kw_only=True)
    variables: dict[Var, Expr] = field(default_factory=dict)
    axes: dict[Var, tuple[Var, ...]] = field(default_factory=dict)
    buffers: dict[Buffer, Buffer] = field(default_factory=dict)
    resumed: Var | None = None

    def expr(self, expr: Expr) -> Expr:
        """Rewrite an expression over the copies."""
        match expr:
            case Ref(var=var):
                return self.variables.get(var, expr)
            case _:
                return super().expr(expr)

    def buffer(self, buffer: Buffer) -> Buffer:
        """Return the copy of a local buffer, any other as it is."""
        return self.buffers.get(buffer, buffer)

    def stmt(self, stmt: Stmt) -> Stmt:
        """Return the copy of a statement."""
        match stmt:
            case For(var=var):
                copy = self.owner.copied_loop(var, self.suffix)
                self.variables[var], self.axes[var] = Ref(copy), (copy,)
                loop = super().stmt(stmt)
                assert isinstance(loop, For)
                return replace(loop, var=copy)
            case Let(var=var, value=value):
                fresh = Var(var.name, var.dtype)
                value = self.expr(value)
                self.variables[var] = Ref(fresh)
                return replace(stmt, var=fresh, value=value, body=self.stmt(stmt.body))
            case Alloc(buffer=buffer):
                storage = None if buffer.aliases is None else self.buffer(buffer.aliases)
                self.buffers[buffer] = replace(buffer, shape=self.exprs(buffer.shape), aliases=storage)
                return super().stmt(stmt)
            case Reduce():
                copied = super().stmt(stmt)
                assert isinstance(copied, Reduce)
                return self._reduction(stmt, copied)
            case Store() | Check() | Barrier() | Prefetch():
                leaf = super().stmt(stmt)
                assert isinstance(leaf, Store | Check | Barrier | Prefetch)
                return replace(leaf, label=self.owner.copied(stmt.label, self.suffix))
            case _:
                return super().stmt(stmt)

    def _reduction(self, old: Reduce, copied: Reduce) -> Reduce:
        label = self.owner.copied(old.label, self.suffix)
        axes = tuple(b for a in old.axes for b in self.axes.get(a, (a,)))
        init = Load(copied.buffer, copied.indices) if self.resumed in old.axes else copied.init
        return replace(copied, label=label, axes=axes, init=init)
