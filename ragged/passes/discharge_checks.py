"""Take out the checks that facts prove, and verify those facts once a batch instead."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ragged.ir.expr import Binary, Expr, Unary
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import Block, Check, For, Let, Stmt, block
from ragged.passes.assume import assume
from ragged.passes.list_checks import CheckResult, list_checks
from ragged.prove import Proof, Unproven
from ragged.prove.context_rewriter import ContextRewriter


def discharge_checks(program: Program) -> Rewritten:
    """Return the program without the kernel's provable checks, and with a prelude that checks what proofs assumed.

    before::

        with kernel:
            check(0 <= left(node) and left(node) < num_nodes, ...)
            lh[node, i] = h[left(node), i]

    after::

        with prelude:
            for n in serial(num_inner):
                check(n + 1 <= left(n) and left(n) < num_nodes, ...)
        with kernel:
            lh[node, i] = h[left(node), i]

    A check that is not proven stays where it is; a loop that held nothing else goes with those that are. The notes say
    of each check whether it went, by which facts, or why not (`list_checks`). Comes after `insert_checks`.
    """
    rewriter = _Discharge(asked=program)
    stages = {
        stage.kind: replace(stage, body=rewriter.stmt(stage.body))
        if stage.kind is StageKind.KERNEL
        else stage
        for stage in program.stages
    }
    stages.setdefault(StageKind.PRELUDE, Stage(StageKind.PRELUDE, Block()))
    ordered = tuple(stages[kind] for kind in StageKind if kind in stages)
    rewritten = rewriter.finish(program, assume(replace(program, stages=ordered), rewriter.assumed))
    return replace(rewritten, notes=list_checks(rewriter.findings))


@dataclass
class _Discharge(ContextRewriter):
    findings: list[CheckResult] = field(default_factory=list)

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Check():
                return self.check(stmt)
            case Block(body=body):
                with self.inside(self.context):
                    return block(*self.sequence(body))
            case For() | Let():
                inner = super().stmt(stmt)
                assert isinstance(inner, For | Let)
                return Block() if inner.body == Block() else inner
            case _:
                return super().stmt(stmt)

    def sequence(self, body: Iterable[Stmt]) -> Iterable[Stmt]:
        """Rewrite statements in order; what follows a check that stays may rely on it."""
        for inner in body:
            new = self.stmt(inner)
            if isinstance(new, Check):
                self.context = replace(self.context, conditions=(*self.context.conditions, new.condition))
            yield new

    def check(self, stmt: Check) -> Stmt:
        """Return nothing in place of a check that is proven, else the check."""
        answer = self.answer(stmt.condition)
        self.findings.append(CheckResult(stmt, answer))
        return stmt if isinstance(answer, Unproven) else Block()

    def answer(self, goal: Expr) -> Proof | Unproven:
        """Prove a goal here: if it can be anywhere in these loops, what holds here in particular is not asked about.

        So the branches of a program share their answers.
        """
        here, alone = self.context, _without_path(goal)
        if here.conditions or alone is not goal:
            with self.inside(replace(here, conditions=())):
                anywhere = super().answer(alone)
            if isinstance(anywhere, Proof):
                return anywhere
        return super().answer(goal)


def _without_path(goal: Expr) -> Expr:
    """Return what has to hold where a path is taken, as if it had to hold everywhere."""
    match goal:
        case Binary(op=BinaryOp.OR, lhs=Unary(op=UnaryOp.NOT), rhs=rhs):
            return _without_path(rhs)
        case _:
            return goal
