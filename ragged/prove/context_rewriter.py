"""A rewriter that knows the loops, lets and conditions around what it rewrites."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ragged.ir.expr import Expr
from ragged.ir.rewrite import Rewriter
from ragged.ir.sites import negated
from ragged.ir.stmt import For, If, Let, Stmt
from ragged.prove.context import Context


@dataclass
class ContextRewriter(Rewriter):
    """Rebuilds statements; `context` is what surrounds the expression or statement being rewritten.

    An expression is rewritten where it is evaluated: a loop's extent outside of the loop, a condition before it holds.
    """

    context: Context = field(default_factory=Context)

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement and its parts."""
        match stmt:
            case For(var=var, extent=extent, body=body):
                count = self.expr(extent)
                with self.inside(replace(self.context, loops=(*self.context.loops, (var, extent)))):
                    inner = self.stmt(body)
                same = count is extent and inner is body
                return stmt if same else replace(stmt, extent=count, body=inner)
            case Let(var=var, value=value, body=body):
                new = self.expr(value)
                with self.inside(replace(self.context, lets=(*self.context.lets, (var, value)))):
                    inner = self.stmt(body)
                return stmt if new is value and inner is body else replace(stmt, value=new, body=inner)
            case If():
                return self.branches(stmt)
            case _:
                return super().stmt(stmt)

    def branches(self, stmt: If) -> Stmt:
        """Rewrite a condition, and both branches, with the condition or its negation in the context."""
        condition = self.expr(stmt.condition)
        with self.where(stmt.condition):
            then = self.stmt(stmt.then)
        orelse = None
        if stmt.orelse is not None:
            with self.where(negated(stmt.condition)):
                orelse = self.stmt(stmt.orelse)
        if condition is stmt.condition and then is stmt.then and orelse is stmt.orelse:
            return stmt
        return replace(stmt, condition=condition, then=then, orelse=orelse)

    @contextmanager
    def inside(self, context: Context) -> Iterator[None]:
        """Use `context` within a `with` block."""
        outer, self.context = self.context, context
        try:
            yield
        finally:
            self.context = outer

    @contextmanager
    def where(self, condition: Expr) -> Iterator[None]:
        """Add `condition` to the context within a `with` block."""
        with self.inside(replace(self.context, conditions=(*self.context.conditions, condition))):
            yield
