"""simplify_guards: remove conditions, minima, maxima and loops with a proven outcome."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.arith.fold import ZERO
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Const, Expr, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewritten
from ragged.ir.sites import negated
from ragged.ir.stmt import Block, For, If, LoopKind, Stmt, lanes_at_most
from ragged.passes.assume import assume
from ragged.passes.list_checks import because
from ragged.prove import Proof
from ragged.prove.context_rewriter import ContextRewriter
from ragged.transform.locate import the_loop

_TRUE, _FALSE = Const(True, DType.BOOL), Const(False, DType.BOOL)
_KEEPS = {BinaryOp.MIN: BinaryOp.LE, BinaryOp.MAX: BinaryOp.GE}


def simplify_guards(program: Program, loop: Var | None = None) -> Rewritten:
    """Remove conditions, minima, maxima and empty loops with a proven outcome, in a loop or everywhere.

    before::

        for t in serial(n(b) // 16 * 16):
            if t < n(b):
                x[b, t] = a[b, t] if t < 4096 else 0.0

    after, if `n(b)` is known to be at most 4096::

        for t in serial(n(b) // 16 * 16):
            x[b, t] = a[b, t]

    A condition that is proven true leaves what it guards, one that is proven false its `else` or nothing; of `a and b`
    and `a or b` the part that is not known stays. Asked are the conditions of statements and of selects, minima and
    maxima of integers, and whether a loop runs never, each with the loops, lets and conditions around it. The facts by
    which something is known are checked by the prelude; the notes say what is known, and by which. What comes before
    those checks, the bind stage, stays as it is, and so does a program in which nothing is known. The forwarding of
    what went is empty.

    Raises:
        ScheduleError: there is no such loop.
    """
    if loop is not None:
        the_loop(program, loop, "simplify_guards")
    rewriter = _Simplify(asked=program, within=loop, asking=loop is None)
    stages = tuple(
        stage if stage.kind is StageKind.BIND else replace(stage, body=rewriter.stmt(stage.body))
        for stage in program.stages
    )
    if all(new.body is old.body for new, old in zip(stages, program.stages, strict=True)):
        return rewriter.finish(program, program)
    new = assume(replace(program, stages=stages), rewriter.assumed)
    return replace(rewriter.finish(program, new), notes=tuple(rewriter.notes))


@dataclass
class _Simplify(ContextRewriter):
    """Takes out what is proven; while it is not `asking`, it only walks on to the loop `within`."""

    within: Var | None = field(kw_only=True)
    asking: bool = field(kw_only=True)
    notes: list[str] = field(default_factory=list)

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, If) and self.asking:
            return self.branches(stmt, self.condition(stmt.condition))
        if not isinstance(stmt, For):
            return super().stmt(stmt)
        if not self.asking and stmt.var is self.within:
            self.asking = True
            try:
                return self.loop(stmt)
            finally:
                self.asking = False
        return self.loop(stmt) if self.asking else super().stmt(stmt)

    def loop(self, loop: For) -> Stmt:
        """Rewrite a loop: nothing stands for one that runs never, or in which nothing is left."""
        never = Binary(BinaryOp.LE, loop.extent, ZERO)
        if loop.kind not in (LoopKind.TEAM, LoopKind.THREADS) and self.known(never):
            return Block()
        new = super().stmt(loop)
        assert isinstance(new, For)
        if loop.kind is LoopKind.VECTORIZED and lanes_at_most(new) is None:
            new = replace(new, extent=loop.extent)  # it says how many lanes there are
        return Block() if new.body == Block() and loop.body != Block() else new

    def branches(self, stmt: If, test: Expr) -> Stmt:
        """Rewrite the branches, or the one that is known to be taken."""
        if self.asking and test == _TRUE:
            return self.stmt(stmt.then)
        if self.asking and test == _FALSE:
            return Block() if stmt.orelse is None else self.stmt(stmt.orelse)
        new = super().branches(stmt, test)
        assert isinstance(new, If)
        if new is stmt:
            return stmt
        left = replace(new, orelse=None if new.orelse == Block() else new.orelse)
        return Block() if left.then == Block() and left.orelse is None else left

    def expr(self, expr: Expr) -> Expr:
        if not self.asking:
            return expr
        match expr:
            case Select(condition=condition):
                return self.select(expr, self.condition(condition))
            case Binary(op=BinaryOp.MIN | BinaryOp.MAX, lhs=lhs, rhs=rhs) if expr.dtype.is_int:
                if self.known(Binary(_KEEPS[expr.op], lhs, rhs)):
                    return self.expr(lhs)
                return self.expr(rhs) if self.known(Binary(_KEEPS[expr.op], rhs, lhs)) else super().expr(expr)
            case _:
                return super().expr(expr)

    def select(self, expr: Select, test: Expr) -> Expr:
        """Rewrite a select, or what is known to be selected."""
        if isinstance(test, Const):
            return self.expr(expr.if_true if test == _TRUE else expr.if_false)
        return super().select(expr, test)

    def condition(self, expr: Expr) -> Expr:
        """Return what is left of a condition: a constant, if it is known here."""
        match expr:
            case Const():
                return expr
            case Unary(op=UnaryOp.NOT, operand=operand):
                inner = self.condition(operand)
                if isinstance(inner, Const):
                    return _FALSE if inner == _TRUE else _TRUE
                return expr if inner is operand else Unary(UnaryOp.NOT, inner, expr.at)
            case Binary(op=BinaryOp.AND | BinaryOp.OR):
                return self.junction(expr)
            case _ if self.known(expr):
                return _TRUE
            case _ if self.known(negated(expr)):
                return _FALSE
            case _:
                return self.expr(expr)

    def junction(self, expr: Binary) -> Expr:
        """Return what is left of `lhs and rhs`, or of `lhs or rhs`; the right one is asked where it decides."""
        settles, leaves = (_FALSE, _TRUE) if expr.op is BinaryOp.AND else (_TRUE, _FALSE)
        left = self.condition(expr.lhs)
        if left == settles:
            return settles
        with self.where(expr.lhs if expr.op is BinaryOp.AND else negated(expr.lhs)):
            right = self.condition(expr.rhs)
        if left == leaves or right == settles:
            return right
        if right == leaves:
            return left
        return expr if left is expr.lhs and right is expr.rhs else Binary(expr.op, left, right, expr.at)

    def known(self, goal: Expr) -> bool:
        """Return whether `goal` is proven here, and note by what."""
        found = self.answer(goal)
        if not isinstance(found, Proof):
            return False
        self.notes.append(f"known: {expr_text(goal)}  {because(found.facts)}")
        return True
