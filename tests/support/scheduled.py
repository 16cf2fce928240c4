"""Scheduling a model's recursion in tests: its tensors by name, steps, and comparing what comes out with the oracle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cortex import ra
from cortex.linearize import linearize
from cortex.ra.tensor import Body
from ragged.errors import ScheduleError
from ragged.ir.verify import verify
from tests.support.agreement import Rows, check_agreement, interpreted


def tensor(model: ra.Model, name: str) -> Body:
    """Return the compute that a model calls so."""
    return next(body for body in model.computes if model.name(body) == name)


def some_structures(model: ra.Model) -> list[Any]:
    """Return a small batch of binary trees, or of sequences, of words below 7."""
    if isinstance(model.structure, ra.Sequence):
        return [np.array([1, 2, 3, 4, 5, 6]), np.array([5]), np.array([6, 1]), np.array([2, 3, 4])]
    deep = (1, ((2, 3), (((4, 5), 6), (1, 2))))
    return [((1, 2), (3, (4, 5))), 6, ((1, (2, 3)), 4), (deep, 1), (deep, (deep, 2))]


def take(schedule: ra.Schedule, steps: Iterable[tuple[str, Any] | tuple[str]]) -> ra.Schedule:
    """Take each step that is not refused, a method's name and its argument; a refused one changes nothing."""
    for name, *arguments in steps:
        before = (schedule.model, schedule.log())
        try:
            getattr(schedule, name)(*arguments)
        except ScheduleError:
            assert (schedule.model, schedule.log()) == before, name
    return schedule


def check_schedule(
    schedule: ra.Schedule, params: dict[str, Any], batch: list[Any], expected: Sequence[Rows], what: str
) -> None:
    """Compare the model as it was rewritten, and its program, with what the oracle said of the model before."""
    check_agreement(ra.evaluate(schedule.model, params, batch), expected, f"{what}, oracle")
    program = schedule.lower()
    verify(program)
    results = interpreted(program, linearize(schedule.plan(), batch), params)
    check_agreement(results, expected, f"{what}, interpreted")
