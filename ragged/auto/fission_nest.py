"""Fission of all loops of a nest at one place."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.ir.expr import Var
from ragged.ir.stmt import Label
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fission import fission


def fission_nest(
    schedule: LoopSchedule, nest: Sequence[Var], after: Label | Var
) -> tuple[list[Var], list[Var]]:
    """Split a nest in two after a statement of its innermost loop; return the loops of both, outermost first."""
    before: list[Var] = []
    rest: list[Var] = []
    at = after
    for var in reversed(nest):
        first, second = schedule.apply(fission, var, at).loops[var]
        before.insert(0, first)
        rest.insert(0, second)
        at = first
    return before, rest
