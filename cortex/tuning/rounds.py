"""Timing several functions side by side: in rounds, so that a slow moment of the machine is everybody's."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cortex.compiler.function import RecursiveFunction
from ragged.compiled.profile import Spread, percentiles

LEAST_ROUNDS = 5
_CALLS = 5


@dataclass(frozen=True, slots=True)
class Times:
    """A function's kernel times in nanoseconds, the median of each round: float64 (rounds,)."""

    rounds: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def __add__(self, more: Times) -> Times:
        """Return these rounds and those that came after."""
        return Times(np.concatenate((self.rounds, more.rounds)))

    @property
    def microseconds(self) -> Spread:
        """The times as such."""
        return percentiles(self.rounds.tolist())

    def relative_to(self, other: Times) -> Spread:
        """Return the times over the other's of the same rounds."""
        low, median, high = np.percentile(self.rounds / other.rounds, (10, 50, 90))
        return Spread(float(median), float(low), float(high))


def take_turns(functions: Sequence[RecursiveFunction], data: object, seconds: float) -> list[Times]:
    """Time the kernels of functions on one batch for about `seconds`, and five rounds at least.

    In a round each function runs one warm-up call, then some timed ones. The order of the functions alternates
    between rounds, which balances the effect of the preceding function.
    """
    linearized = [fn.linearize(data) for fn in functions]
    found: list[list[float]] = [[] for _ in functions]
    end = time.monotonic() + seconds
    order = list(range(len(functions)))
    while len(found[0]) < LEAST_ROUNDS or time.monotonic() < end:
        for k in order:
            found[k].append(float(np.median(functions[k].kernel_times(linearized[k], _CALLS))))
        order.reverse()
    return [Times(np.array(times)) for times in found]
