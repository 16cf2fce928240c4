"""Bring near what the rows of a tile read besides its sums, while those are computed."""

from __future__ import annotations

from collections.abc import Iterator

from ragged.arith.affine import at_most
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Load, MemoryScope, Role, Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import Alloc, Block, For, LoopKind, Stmt
from ragged.ir.walk import held, statements, subexpressions, written
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.schedule.result import ScheduleResult
from ragged.transform.code.prefetch import prefetch

_MADE_BEFORE = (Role.PAYLOAD, Role.WORKSPACE)
"""Buffers of these have rows that a core has not seen lately; parameters it reads for every tile."""


def prefetch_rows(program: Program) -> Rewritten:
    """Return the program with prefetches before the sums of tiles, of what comes after them in the same block.

    Those are what callers gave, and what was made before, which wait in farther caches than the weights do. What the
    block writes itself was written not long before and is left. Comes when all is scheduled. Its notes are its steps.
    """
    schedule = LoopSchedule(program, trusted=True)
    for loop, buffer in list(_reads(program)):
        try:
            schedule.apply(prefetch, loop, buffer)
        except ScheduleError:
            continue  # it is not sure that it is read there, or not known yet where
    record = schedule.record("prefetch_rows", "loads of a tile's other operands overlap with its sums")
    notes = tuple(schedule.log().splitlines())
    return ScheduleResult(schedule.checked(), schedule.forwarding, notes, rules=(record,))


def _reads(program: Program) -> Iterator[tuple[Var, Buffer]]:
    """Yield the nests that read sums of a tile in its block, and what they read that was made before these."""
    for stmt in statements(program.kernel):
        if not isinstance(stmt, Block):
            continue
        changed, sums = written(stmt), frozenset[Buffer]()
        for each in stmt.body:
            if _has_sums(each):
                sums |= {buffer for buffer in written(each) if buffer.role is Role.LOCAL}
            elif isinstance(each, For) and at_most(each.extent, {}) is not None:
                loaded = dict.fromkeys(_loaded(each))
                if not sums.isdisjoint(loaded):
                    yield from ((each.var, b) for b in loaded if b.role in _MADE_BEFORE and b not in changed)


def _has_sums(stmt: Stmt) -> bool:
    """Return whether a statement computes a tile of sums, in registers or on a matrix unit."""
    return any(
        (isinstance(inner, Alloc) and inner.buffer.scope is MemoryScope.REGISTER)
        or (isinstance(inner, For) and inner.kind is LoopKind.TENSORIZED)
        for inner in statements(stmt)
    )


def _loaded(stmt: Stmt) -> Iterator[Buffer]:
    """Yield what is loaded in vectors, each of which is a line of the cache or most of one."""
    for loop in statements(stmt):
        if isinstance(loop, For) and loop.kind is LoopKind.VECTORIZED:
            for inner in statements(loop):
                for expr in held(inner):
                    yield from (part.buffer for part in subexpressions(expr) if isinstance(part, Load))
