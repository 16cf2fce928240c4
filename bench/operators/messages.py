"""What is said between the benchmark of ragged operators and the process of a peer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from bench.operators.problems import Problem


@dataclass(frozen=True, slots=True)
class Ask:
    """Which operators does the peer have? The reply is a frozenset of `Operator`."""


@dataclass(frozen=True, slots=True)
class Solve:
    """Make what the problem needs; its batches are meant from then on. The reply is None."""

    problem: Problem


@dataclass(frozen=True, slots=True)
class Answer:
    """Compute a batch. The reply is a list of arrays, as `bench.operators.reference.wanted` returns them."""

    batch: int


@dataclass(frozen=True, slots=True)
class Time:
    """Time a batch, after a few calls on another one, or the same if there is no other.

    The reply is each call's nanoseconds.
    """

    batch: int
    warm: int
    repeats: int


Request: TypeAlias = Ask | Solve | Answer | Time
