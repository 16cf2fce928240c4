"""Insert checks that a node reads only results of nodes that were computed before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cortex.ilir.structure import NODE
from ragged.analysis.obligations import guarded_parts
from ragged.ir.expr import Binary, Buffer, Expr, Load, Ref, Role, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten, substitute
from ragged.ir.stmt import Alloc, Block, Check, For, If, Label, Let, LoopKind, Stmt, block
from ragged.ir.walk import expressions


def insert_order_checks(program: Program) -> Rewritten:
    """Return the kernel with a check before every read of another node's result.

    before::

        for n in parallel(batch_length(b), N):
            node = batch_begin(b) + n
            lh[node, i] = h[left(node), i]

    after::

        for n in parallel(batch_length(b), N):
            node = batch_begin(b) + n
            check(left(node) >= batch_begin(b) + batch_length(b), ...)
            lh[node, i] = h[left(node), i]

    Nodes of a parallel loop may read only results of earlier loops: of nodes after the last of this loop (CORTEX,
    Appendix B). In a serial loop, which runs downward, any node with a higher number is computed. `discharge_checks`
    proves the checks from the facts of the structure, and each call verifies these facts. Must run first.
    """
    rewriter = _InsertOrderChecks()
    return rewriter.program(program, kinds=(StageKind.KERNEL,))


@dataclass
class _InsertOrderChecks(Rewriter):
    loop: For | None = None
    node: Var | None = None
    least: Expr | None = None

    def stmt(self, stmt: Stmt) -> Stmt:
        outer = (self.loop, self.node, self.least)
        if isinstance(stmt, For) and stmt.dim is NODE:
            self.loop = stmt
        elif isinstance(stmt, Let) and self.loop is not None and self.node is None:
            self.enter(self.loop, stmt)
        inner = super().stmt(stmt)
        self.loop, self.node, self.least = outer
        if isinstance(stmt, Block | Alloc | If):
            return inner
        return block(*self.checks(stmt), inner)

    def enter(self, loop: For, let: Let) -> None:
        """Note the current node of a loop over nodes, and the least node that it may read."""
        self.node = let.var
        if loop.kind is LoopKind.PARALLEL:
            self.least = substitute(let.value, {loop.var: loop.extent})

    def checks(self, stmt: Stmt) -> Iterator[Check]:
        """Yield a check for each distinct node that `stmt` reads results of."""
        if self.node is None:
            return
        seen: set[tuple[Expr, Expr | None]] = set()
        for expr in expressions(stmt):
            for load, path in guarded_parts(expr):
                if not isinstance(load, Load) or not _is_of_nodes(load.buffer):
                    continue
                if (load.indices[0], path) not in seen:
                    seen.add((load.indices[0], path))
                    yield from self.check(load, self.node, path)

    def check(self, load: Load, node: Var, path: Expr | None) -> Iterator[Check]:
        """Yield the check that the node read by `load`, where `path` holds, was computed before."""
        other = load.indices[0]
        if other == Ref(node):
            return
        op, least = (BinaryOp.GT, Ref(node)) if self.least is None else (BinaryOp.GE, self.least)
        condition = Binary(op, other, least)
        if path is not None:
            condition = Binary(BinaryOp.OR, Unary(UnaryOp.NOT, path), condition)
        message = "node {0} reads node {1}, which is computed no earlier (bound {2})"
        yield Check(
            Label(f"{load.buffer.name}.order"), condition, message, (Ref(node), other, least), load.at
        )


def _is_of_nodes(buffer: Buffer) -> bool:
    """Return whether a buffer has a row for each node that the kernel writes."""
    return buffer.role in (Role.OUTPUT, Role.WORKSPACE) and buffer.dims[:1] == (NODE,)
