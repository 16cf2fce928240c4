"""Run independent iterations one after another: the loops of a program for one worker."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from ragged.ir.expr import Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import For, LoopKind, Stmt


def serialize_loops(program: Program) -> Rewritten:
    """Return the program with every parallel loop serial.

    before::

        for n in parallel(batch_length(b), N):

    after::

        for n in serial(batch_length(b), N):

    Comes before `contract_storage`, which may then share one iteration's storage with the next.
    """
    return Serialize().program(program)


@dataclass
class Serialize(Rewriter):
    """Makes parallel loops serial, but for those that are `kept`."""

    kept: Collection[Var] = field(default=(), kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement."""
        if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL and stmt.var not in self.kept:
            stmt = replace(stmt, kind=LoopKind.SERIAL)
        return super().stmt(stmt)
