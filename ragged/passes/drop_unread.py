"""Leave out the temporaries that nothing reads, and what stores them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragged.analysis.buffers import TEMPORARY, Pruner, all_buffers
from ragged.ir.expr import Buffer
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import Alloc, Block, Reduce, Stmt, Store
from ragged.ir.walk import all_expressions, loads


def drop_unread(program: Program) -> Rewritten:
    """Return the program without the workspaces and local buffers that no expression loads, and their stores.

    before::

        t: workspace(float32[256])

        with kernel:
            for i in serial(256):
                t[i] = x[i]
                y[i] = tanh(x[i])

    after::

        with kernel:
            for i in serial(256):
                y[i] = tanh(x[i])

    `cache_write` leaves such stores where all that a loop reads of a temporary is in registers. Buffers that share
    their memory with others stay.
    """
    buffers = all_buffers(program)
    read = {
        part.buffer
        for stage in program.stages
        for expr in all_expressions(stage.body)
        for part in loads(expr)
    }
    shared = {each.aliases for each in buffers} | {each for each in buffers if each.aliases is not None}
    unread = frozenset(
        each for each in buffers if each.role in TEMPORARY and each not in read and each not in shared
    )
    if not unread:
        return Pruner().finish(program, program)
    rewriter = _DropUnread(unread=unread)
    rest = tuple(each for each in program.buffers if each not in unread)
    return rewriter.program(program, buffers=rest)


@dataclass
class _DropUnread(Pruner):
    unread: frozenset[Buffer] = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Store(buffer=buffer) | Reduce(buffer=buffer) if buffer in self.unread:
                return Block()
            case Alloc(buffer=buffer, body=body) if buffer in self.unread:
                return self.stmt(body)
            case _:
                return super().stmt(stmt)
