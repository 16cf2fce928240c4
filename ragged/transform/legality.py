"""What primitives ask before they rewrite, and how they refuse."""

from __future__ import annotations

from collections.abc import Iterable

from ragged.analysis.dependence import Conflict, Copies, find_conflict, storage
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Expr
from ragged.ir.index import contents
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.sites import Site, sites_in
from ragged.ir.stmt import For, LoopKind, Stmt
from ragged.ir.walk import loads, written


def labelled(site: Site, within: Stmt | None = None) -> list[Site]:
    """Return the labelled statements in the statement at `site`, those in `within` alone where it is given."""
    wanted = contents(site.stmt if within is None else within).labels
    return [inner for inner in sites_in(site) if getattr(inner.stmt, "label", None) in wanted]


def require_fixed(body: Stmt, exprs: Iterable[Expr], what: str) -> None:
    """Return if nothing in `body` changes what `exprs` are, so that it does not matter when they are evaluated.

    Raises:
        ScheduleError: `body` writes a buffer that one of them reads; `what` is the refusal.
    """
    changed = {storage(buffer) for buffer in written(body)}
    for expr in exprs:
        for part in loads(expr):
            if storage(part.buffer) in changed:
                raise ScheduleError(
                    what,
                    because=f"{expr_text(expr)} would be evaluated at another time, and '{part.buffer.name}' is "
                    "written in between",
                )


def require_no_team(loop: For, what: str) -> None:
    """Raise `ScheduleError` if `loop` is a team's or a block's: its iterations are workers, which walk together."""
    if loop.kind is LoopKind.TEAM:
        raise ScheduleError(what, because=f"the iterations of '{loop.var.name}' are the workers of a team")
    if loop.kind is LoopKind.THREADS:
        raise ScheduleError(what, because=f"the iterations of '{loop.var.name}' are the threads of a block")


def require_no_lanes(loop: For, what: str, fix: str) -> None:
    """Raise `ScheduleError` if the iterations of `loop` are lanes of a vector, or workers."""
    if loop.kind in (LoopKind.VECTORIZED, LoopKind.TEAM, LoopKind.THREADS):
        raise ScheduleError(
            f"{what}, as it is {loop.kind.value}", because="its iterations are lanes or workers", fix=fix
        )


def require_constant(loop: For, what: str, fix: str) -> int:
    """Return how many iterations a loop has.

    Raises:
        ScheduleError: that is no number; `what` is the refusal.
    """
    if not isinstance(loop.extent, Const):
        raise ScheduleError(
            what, because=f"it runs {expr_text(loop.extent)} times, which is not constant", fix=fix
        )
    return int(loop.extent.value)


def require_variable(loop: For, what: str) -> None:
    """Raise `ScheduleError` if a loop has a constant number of iterations; `what` is the refusal."""
    if isinstance(loop.extent, Const):
        raise ScheduleError(what, because=f"it always runs {loop.extent.value} times")


def require_independent(program: Program, site: Site, what: str, fix: str | None = None) -> None:
    """Return if no two iterations of the loop at `site` touch one element that one of them writes.

    Raises:
        ScheduleError: that is not proven; `what` is the refusal.
    """
    loop = site.stmt
    assert isinstance(loop, For)
    if loop.kind is LoopKind.PARALLEL:
        return  # the program says so
    var, inside = loop.var, labelled(site)

    def apart(first: Copies, second: Copies) -> tuple[Expr, ...]:
        return (Binary(BinaryOp.LT, first[var], second[var]),)

    refuse(find_conflict(program, inside, inside, len(site.loops), apart), what, fix)


def refuse(conflict: Conflict | None, what: str, fix: str | None = None) -> None:
    """Raise `ScheduleError` if there is a conflict; `what` is the refusal."""
    if conflict is not None:
        raise ScheduleError(what, because=str(conflict), example=conflict.example, fix=fix)
