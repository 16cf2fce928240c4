"""A rewriter that knows the loops, lets and conditions around what it rewrites."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ragged.ir.expr import Binary, Expr, Select
from ragged.ir.fact import Fact
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter
from ragged.ir.sites import negated
from ragged.ir.stmt import For, If, Let, Stmt
from ragged.prove.answers import Proof, Unproven
from ragged.prove.context import Context
from ragged.prove.prover import prover_of


@dataclass
class ContextRewriter(Rewriter):
    """Rebuilds statements and expressions; `context` is what surrounds the one being rewritten.

    An expression is rewritten where it is evaluated: a loop's extent outside of the loop, a condition before it holds.
    Goals are proven from the facts of the program `asked`; `assumed` are those that were used.
    """

    asked: Program = field(kw_only=True)
    context: Context = field(default_factory=Context)
    assumed: set[Fact] = field(default_factory=set)

    def answer(self, goal: Expr) -> Proof | Unproven:
        """Prove a goal here."""
        here = self.context
        found = prover_of(self.asked).prove(
            goal, loops=here.loops, lets=here.lets, conditions=here.conditions
        )
        if isinstance(found, Proof):
            self.assumed |= found.facts
        return found

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement and its parts."""
        match stmt:
            case For(var=var, extent=extent, body=body):
                count = self.expr(extent)
                with self.inside(replace(self.context, loops=(*self.context.loops, (var, count)))):
                    inner = self.stmt(body)
                same = count is extent and inner is body
                return stmt if same else replace(stmt, extent=count, body=inner)
            case Let(var=var, value=value, body=body):
                new = self.expr(value)
                with self.inside(replace(self.context, lets=(*self.context.lets, (var, new)))):
                    inner = self.stmt(body)
                return stmt if new is value and inner is body else replace(stmt, value=new, body=inner)
            case If():
                return self.branches(stmt, self.expr(stmt.condition))
            case _:
                return super().stmt(stmt)

    def branches(self, stmt: If, test: Expr) -> Stmt:
        """Rewrite both branches, with the rewritten condition or its negation in the context."""
        with self.where(test):
            then = self.stmt(stmt.then)
        orelse = None
        if stmt.orelse is not None:
            with self.where(negated(test)):
                orelse = self.stmt(stmt.orelse)
        if test is stmt.condition and then is stmt.then and orelse is stmt.orelse:
            return stmt
        return replace(stmt, condition=test, then=then, orelse=orelse)

    def expr(self, expr: Expr) -> Expr:
        """Rewrite an expression where it is evaluated."""
        match expr:
            case Select():
                return self.select(expr, self.expr(expr.condition))
            case Binary(op=BinaryOp.AND | BinaryOp.OR as op, lhs=lhs, rhs=rhs):
                left = self.expr(lhs)
                with self.where(left if op is BinaryOp.AND else negated(left)):
                    right = self.expr(rhs)
                return expr if left is lhs and right is rhs else Binary(op, left, right, expr.at)
            case _:
                return super().expr(expr)

    def select(self, expr: Select, test: Expr) -> Expr:
        """Rewrite both values of a select, with the rewritten condition or its negation in the context."""
        with self.where(test):
            yes = self.expr(expr.if_true)
        with self.where(negated(test)):
            no = self.expr(expr.if_false)
        if test is expr.condition and yes is expr.if_true and no is expr.if_false:
            return expr
        return Select(test, yes, no, expr.at)

    @contextmanager
    def inside(self, context: Context) -> Iterator[None]:
        """Use `context` within a `with` block."""
        outer, self.context = self.context, context
        try:
            yield
        finally:
            self.context = outer

    @contextmanager
    def where(self, condition: Expr | None) -> Iterator[None]:
        """Add `condition`, if there is one, to the context within a `with` block."""
        more = () if condition is None else (condition,)
        with self.inside(replace(self.context, conditions=(*self.context.conditions, *more))):
            yield
