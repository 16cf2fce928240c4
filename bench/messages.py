"""What is said between the benchmark and the process of a peer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from bench.peers.job import Job
from bench.trees import Flat


@dataclass(frozen=True, slots=True)
class Build:
    """Make the model of a job, and the trees that later requests name by number.

    The reply is None, or why the peer has no such model.
    """

    job: Job
    trees: list[Flat]


@dataclass(frozen=True, slots=True)
class Answer:
    """Compute a batch. The reply is the answers at its roots."""

    batch: range


@dataclass(frozen=True, slots=True)
class Time:
    """Time a batch, after calls on `warm`. The reply is a `Timed`."""

    batch: range
    warm: tuple[range, ...]
    repeats: int


@dataclass(frozen=True, slots=True)
class Timed:
    """Nanoseconds of each call, the batch's first one first; of the kernel and from flat arrays if there is one."""

    end_to_end: list[int]
    kernel: list[int] | None
    arrays: list[int] | None


@dataclass(frozen=True, slots=True)
class Weigh:
    """Compute a batch some times, after the first tree of it alone.

    The reply is by how many bytes the process's memory grew meanwhile, at its peak.
    """

    batch: range
    repeats: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The reply where something was raised: its traceback."""

    text: str


Request: TypeAlias = Build | Answer | Time | Weigh
