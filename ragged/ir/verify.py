"""Verifying programs: what every pass may rely on, and must leave true."""

from __future__ import annotations

from collections.abc import Callable

from ragged.ir.checks.declarations import check_buffers, check_declared_once, check_facts, check_functions
from ragged.ir.checks.loops import check_barriers, check_reductions, check_teams, check_threads, check_vectors
from ragged.ir.checks.messages import check_messages
from ragged.ir.checks.scopes import check_allocated_once, check_bound_once, check_labels, check_scopes
from ragged.ir.checks.stages import check_bind, check_stages, check_writes
from ragged.ir.checks.types import check_declared_types, check_types
from ragged.ir.program import Program

CHECKS: tuple[Callable[[Program], None], ...] = (
    check_stages,
    # Symbols first: the other checks rely on each standing for one thing, which is there.
    check_declared_once,
    check_functions,
    check_buffers,
    check_facts,
    check_bound_once,
    check_allocated_once,
    check_labels,
    check_scopes,
    check_declared_types,
    check_types,
    check_messages,
    check_writes,
    check_bind,
    check_reductions,
    check_teams,
    check_threads,
    check_vectors,
    check_barriers,
)


def verify(program: Program) -> None:
    """Return if `program` is valid.

    Raises:
        InternalError: If it is not; the message shows the program with a note under the culprit.
    """
    for check in CHECKS:
        check(program)
