"""What primitives ask that share out the iterations of parallel loops to those who run a kernel together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Expr, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter
from ragged.ir.stmt import Alloc, Barrier, Check, For, Label, LoopKind, Reduce, Stmt, Store, block
from ragged.ir.walk import leaves
from ragged.schedule.dependence import Copies, find_conflict
from ragged.schedule.phases import Phase


def check_effects(refusal: str, body: Stmt, phases: Sequence[Phase], who: str = "worker") -> None:
    """Return if what has an effect in `body` stands in the phases, and what stands around them stays as it is.

    Raises:
        ScheduleError: it does not; `refusal` says who asks, and `who` would do it.
    """
    if not phases:
        raise ScheduleError(refusal, because="it has no parallel loop")
    inside = {label for phase in phases for label in phase.labels}
    for leaf in leaves(body):
        if isinstance(leaf, Store | Reduce | Check | Barrier) and leaf.label not in inside:
            if isinstance(leaf, Barrier) and who == "thread":
                continue  # all threads of all blocks come there
            raise ScheduleError(
                refusal,
                at=leaf.at,
                because=f"'{leaf.label.name}' stands outside its parallel loops: every {who} would do it",
            )
    for phase in phases:
        for buffer in phase.reads_around:
            raise ScheduleError(
                refusal,
                because=f"what stands around loop '{phase.loop.var.name}' reads '{buffer.name}', and "
                f"{who}s look at different times",
            )


def check_independent(primitive: str, program: Program, phase: Phase) -> None:
    """Return if no two iterations of a phase touch one element that one of them writes.

    Raises:
        ScheduleError: that is not proven.
    """

    def apart(first: Copies, second: Copies) -> tuple[Expr, ...]:
        return (Binary(BinaryOp.LT, first[phase.loop.var], second[phase.loop.var]),)

    # A check ends the program wherever iterations are; their order does not matter to it.
    inside = [site for site in phase.inside if not isinstance(site.stmt, Check)]
    conflict = find_conflict(program, inside, inside, phase.depth, apart)
    if conflict is not None:
        raise ScheduleError(
            f"{primitive}: the iterations of loop '{phase.loop.var.name}' are not proven to be independent",
            at=phase.loop.at,
            because=str(conflict),
            example=conflict.example,
        )


def held_by_workers(team: For) -> tuple[tuple[Alloc, ...], Stmt]:
    """Return what is allocated for all that a worker does, outermost first, and the statement inside of that."""
    held: list[Alloc] = []
    body = team.body
    while isinstance(body, Alloc):
        held.append(body)
        body = body.body
    return tuple(held), body


@dataclass
class Share(Rewriter, ABC):
    """Puts a share in place of each of `loops`, and a barrier before each of `barriers`."""

    loops: set[Var] = field(kw_only=True)
    barriers: set[Var] = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement."""
        if not isinstance(stmt, For):
            return super().stmt(stmt)
        share = self.share(stmt) if stmt.var in self.loops else super().stmt(stmt)
        return block(Barrier(Label("barrier")), share) if stmt.var in self.barriers else share

    @abstractmethod
    def share(self, loop: For) -> Stmt:
        """Return what one of those who share a loop does of it."""


class Serial(Rewriter):
    """Makes the parallel loops inside a share serial: they are one worker's."""

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement."""
        if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL:
            stmt = replace(stmt, kind=LoopKind.SERIAL)
        return super().stmt(stmt)
