"""What a run finds out, as it is written to JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Spread:
    """Microseconds over batches: the median, the 10th and the 90th percentile."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Times:
    """One peer on one row. Of each batch the median of its repeats counts; `first` are first calls on new batches.

    `kernel` is None where a peer has no kernel apart from the rest; `share` is of the roofline, for it. `arrays` is a
    call on a batch's flat arrays: for peers that are called with those, the kernel's time. `error` is the largest of
    its answers.
    """

    peer: str
    error: float
    end_to_end: Spread
    first: Spread
    kernel: Spread | None
    arrays: Spread | None
    share: float | None
    end_to_end_of_batches: list[float]
    kernel_of_batches: list[float] | None
    arrays_of_batches: list[float] | None


@dataclass(frozen=True, slots=True)
class Row:
    """A workload, a hidden size and a batch size: times by peer, and medians over the batches of the rest.

    `nodes` and `flops` are of a batch, `roofline` is in microseconds.
    """

    workload: str
    hidden: int
    batch: int
    batches: int
    nodes: float
    flops: float
    roofline: float
    roofline_of_batches: list[float]
    peers: list[Times]


@dataclass(frozen=True, slots=True)
class Refused:
    """A peer that is not timed: it fails, is wrong, or has no such model. One that does not start has no `hidden`."""

    peer: str
    workload: str
    hidden: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Weighed:
    """Of a batch: its nodes, the bytes that must be there at once, and by how many bytes each peer grew."""

    workload: str
    hidden: int
    batch: int
    nodes: int
    least: int
    peers: dict[str, int]


@dataclass(frozen=True, slots=True)
class Gained:
    """A variant of a model: microseconds of the kernel, and how many times faster than the first variant it is."""

    workload: str
    hidden: int
    batch: int
    variant: str
    us: Spread
    gain: float


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a kernel should take with so many threads, in microseconds, where memory gives so many GB/s to all of them.

    `imbalance` is the work of each phase's busiest thread over the mean of all.
    """

    threads: int
    gbs: float
    imbalance: float
    us: float


@dataclass(frozen=True, slots=True)
class Scaled:
    """A kernel: microseconds measured on one thread and on two, and predicted from the first for two and for more."""

    workload: str
    shape: str
    one: Spread
    two: Spread
    check: Predicted
    more: list[Predicted]

    @property
    def error(self) -> float:
        """How much more is predicted for two threads than is measured, as a share of what is measured."""
        return self.check.us / self.two.median - 1


@dataclass(frozen=True, slots=True)
class TeamCost:
    """Nanoseconds of a barrier of two threads, and of giving a call to one thread more."""

    barrier: float
    helper: float


def spread(microseconds: Sequence[float]) -> Spread:
    """Return the spread of times."""
    low, median, high = np.percentile(microseconds, (10, 50, 90))
    return Spread(float(median), float(low), float(high))
