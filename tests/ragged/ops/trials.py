"""Trying primitives on an operator's program: where they are legal, or why they are refused, and what is computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from zlib import crc32

import numpy as np

from ragged.api.schedule import RaggedSchedule
from ragged.errors import ScheduleError
from tests.ragged.api.running import Data, run
from tests.ragged.ops.operators import batch, unscheduled
from tests.ragged.ops.primitives import PRIMITIVES, Primitive

LENGTHS = (0, 0, 1, 2, 3, 4, 5)
HARD = ((), (0, 0), (1,), (0, 17))
"""Lengths that break things: no sequence, empty ones, one row, one more than a tile."""
DRAWN = 5
"""Batches of random lengths for each operator."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a primitive in a program: the steps taken where it is legal, and the first place's refusal."""

    primitive: Primitive
    places: int
    steps: str | None
    refusal: ScheduleError | None

    @property
    def text(self) -> str:
        """The whole of it, as the golden file has it."""
        head = f"{self.primitive.name} ({self.primitive.of}): "
        if not self.places:
            return f"{head}no place"
        found = [head + ("refused" if self.steps is None else "legal")]
        found += [] if self.steps is None else [f"    {line}" for line in self.steps.splitlines()]
        if self.refusal is not None:
            # The prover may find another example another time.
            left_out = ("  at ", "  example: ")
            refused = [line for line in str(self.refusal).splitlines() if not line.startswith(left_out)]
            found += [
                "  refused first:" if self.steps is not None else "",
                *(f"    {line}" for line in refused),
            ]
        return "\n".join(line for line in found if line)


class Operator:
    """An operator's program, and what it computes unscheduled."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._shared = unscheduled(name)
        self._start = self._shared.loops.checkpoint()
        self._computed = cache(self._compute)
        """The data of sequences of given lengths, and what is computed of them unscheduled."""

    def _compute(self, lengths: tuple[int, ...]) -> tuple[Data, dict[str, np.ndarray]]:
        schedule = unscheduled(self.name)
        data = batch(schedule, lengths, seed=sum(lengths))
        return data, run(schedule, data)

    def fresh(self, primitive: Primitive) -> RaggedSchedule:
        """Return a schedule without steps: a new one for what decides, else the shared one, its steps taken back."""
        if primitive.decides:
            return unscheduled(self.name)
        self._shared.loops.restore(self._start)
        return self._shared

    def lengths(self, primitive: Primitive) -> tuple[int, ...]:
        """Return the lengths that a scheduled program is run on: random ones, and now and then those of `HARD`."""
        draw = np.random.default_rng(crc32(f"{self.name}, {primitive.name}, {primitive.of}".encode()))
        if draw.random() < 0.25:
            return HARD[draw.integers(len(HARD))]
        batches = np.random.default_rng(crc32(self.name.encode())).choice(LENGTHS, (DRAWN, 3))
        return tuple(batches[draw.integers(DRAWN)].tolist())

    def agrees(self, schedule: RaggedSchedule, primitive: Primitive) -> None:
        """Check that a schedule computes the same bits as no schedule."""
        lengths = self.lengths(primitive)
        data, computed = self._computed(lengths)
        found = run(schedule, data)
        for name, expected in computed.items():
            np.testing.assert_array_equal(found[name], expected, f"{lengths}:\n{schedule.log()}")

    def attempt(self, primitive: Primitive) -> Trial:
        """Apply a primitive at the first place of its kind that takes it, and check what is computed."""
        first: ScheduleError | None = None
        places = 0
        for places, place in enumerate(primitive.places(unscheduled(self.name)), 1):
            s = self.fresh(primitive)
            try:
                place.step(s)
                s.loops  # noqa: B018 - what has been decided is checked when they are made
            except ScheduleError as error:
                first = first or error
                continue
            self.agrees(s, primitive)
            return Trial(primitive, places, s.log(), first)
        return Trial(primitive, places, None, first)


def trials_of(operator: str) -> tuple[Trial, ...]:
    """Return what became of each primitive in an operator's program.

    Raises:
        AssertionError: a scheduled program computes something else.
    """
    own = Operator(operator)
    return tuple(own.attempt(primitive) for primitive in PRIMITIVES)
