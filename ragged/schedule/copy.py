"""A second copy of statements, with identities of its own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.ir.expr import Buffer, Expr, Load, Ref, Var
from ragged.ir.rewrite import Rewriter
from ragged.ir.stmt import Alloc, Barrier, Check, For, Intrinsic, Let, Reduce, Stmt, Store


@dataclass
class Copier(Rewriter):
    """Copies statements: loops, lets, local buffers and labels get new identities, recorded with `owner`."""

    owner: Rewriter = field(kw_only=True)
    suffix: str = field(kw_only=True)
    variables: dict[Var, Expr] = field(default_factory=dict)
    buffers: dict[Buffer, Buffer] = field(default_factory=dict)

    def expr(self, expr: Expr) -> Expr:
        """Rewrite an expression over the copies."""
        match expr:
            case Ref(var=var):
                return self.variables.get(var, expr)
            case Load(buffer=buffer, indices=indices, at=at) if buffer in self.buffers:
                return Load(self.buffers[buffer], self.exprs(indices), at)
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
                self.variables[var] = Ref(copy)
                loop = super().stmt(stmt)
                assert isinstance(loop, For)
                return replace(loop, var=copy)
            case Let(var=var, value=value):
                fresh = Var(var.name, var.dtype)
                value = self.expr(value)
                self.variables[var] = Ref(fresh)
                return replace(stmt, var=fresh, value=value, body=self.stmt(stmt.body))
            case Alloc(buffer=buffer):
                self.buffers[buffer] = replace(buffer, shape=self.exprs(buffer.shape))
                return super().stmt(stmt)
            case Reduce(axes=axes):
                copied = super().stmt(stmt)
                assert isinstance(copied, Reduce)
                label = self.owner.copied(stmt.label, self.suffix)
                return replace(copied, label=label, axes=tuple(map(self.axis, axes)))
            case Store() | Check() | Barrier() | Intrinsic():
                leaf = super().stmt(stmt)
                assert isinstance(leaf, Store | Check | Barrier | Intrinsic)
                return replace(leaf, label=self.owner.copied(stmt.label, self.suffix))
            case _:
                return super().stmt(stmt)

    def axis(self, var: Var) -> Var:
        """Return the copy of a loop that is copied, any other as it is."""
        value = self.variables.get(var)
        return value.var if isinstance(value, Ref) else var
