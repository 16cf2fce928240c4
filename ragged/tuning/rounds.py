"""Timing kernels side by side: in rounds, so that a slow moment of the machine is every kernel's."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ragged.compiled.profile import Spread, percentiles

LEAST_ROUNDS = 5
Timer = Callable[[], Sequence[float]]
"""Runs a kernel once for a round: nanoseconds for each shape, each the median of calls after one to warm up."""


@dataclass(frozen=True, slots=True)
class Times:
    """A kernel's times in nanoseconds by round and shape: float64 (rounds, shapes), or (rounds,) for one shape."""

    rounds: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def __add__(self, more: Times) -> Times:
        """Return these rounds, followed by `more`."""
        return Times(np.concatenate((self.rounds, more.rounds)) if len(self.rounds) else more.rounds)

    @property
    def microseconds(self) -> Spread:
        """The time of a round, all shapes together, in microseconds."""
        return percentiles(_by_shape(self.rounds).sum(axis=1).tolist())

    def relative_to(self, other: Times, weights: Sequence[float] = (1.0,)) -> Spread:
        """Return the times over the other's of the same rounds: of a round, the weighted geometric mean of shapes."""
        share = np.asarray(weights) / np.sum(weights)
        ratios = np.exp(np.log(_by_shape(self.rounds) / _by_shape(other.rounds)) @ share)
        low, median, high = np.percentile(ratios, (10, 50, 90))
        return Spread(float(median), float(low), float(high))


def take_turns(timers: Sequence[Timer], seconds: float, rounds: int = LEAST_ROUNDS) -> list[Times]:
    """Time kernels for about `seconds`, and so many rounds at least.

    The order of the kernels alternates between rounds, which balances the effect of the preceding kernel.
    """
    found: list[list[Sequence[float]]] = [[] for _ in timers]
    end = time.monotonic() + seconds
    order = list(range(len(timers)))
    while len(found[0]) < rounds or time.monotonic() < end:
        for k in order:
            found[k].append(timers[k]())
        order.reverse()
    return [Times(np.array(times, np.float64)) for times in found]


def _by_shape(rounds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return rounds.reshape(len(rounds), -1)
