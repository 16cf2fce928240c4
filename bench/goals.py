"""What the project sets itself, row by row: a share of the roofline, a bound end to end, C++ by hand to be ahead of.

A row's bound is its roofline over the share that is wanted of it, plus 40 ns a node and 10 us: what may be lost in
the kernel, in reading Python's objects and in a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from bench.peers import BY_HAND, BY_HAND_ROUNDED, OWN, ROUNDED
from bench.peers.job import SEQUENTIAL
from bench.results import Row, Times

NODE_US, CALL_US = 0.04, 10.0
BY_HAND_MEAN, BY_HAND_LEAST, BEST_PEER = 1.25, 0.95, 2.5
"""How many times ahead: of C++ by hand from flat arrays, in the mean and in each row; of any peer, end to end."""
_WITHOUT = {cell.value for cell in SEQUENTIAL}
"""Workloads that the project has set itself no goals for."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A row's goals, and how far they are met: `share` of the roofline, microseconds end to end, and ratios.

    `by_hand` is what C++ by hand took from flat arrays over what Cortex did, in the median over batches. `best` is
    the best peer's time end to end over Cortex's, `rounded` the kernel's over that in bfloat16, and `by_hand_rounded`
    as `by_hand`, both in bfloat16. None where there is no such peer.
    """

    row: Row
    share: float
    end_to_end: float
    by_hand: float | None
    best: float | None
    rounded: float | None
    by_hand_rounded: float | None

    @property
    def wanted_share(self) -> float:
        """The share of the roofline that a kernel is to have."""
        return 0.75 if self.row.batch == 1 else 0.85

    @property
    def bound(self) -> float:
        """The most microseconds that a call on objects is to take."""
        return self.row.roofline / self.wanted_share + NODE_US * self.row.nodes + CALL_US


def goals_of(rows: Iterable[Row]) -> list[Goal]:
    """Return the goals of the rows over trees and DAGs that Cortex was timed on."""
    recursive = (row for row in rows if row.workload not in _WITHOUT)
    return [_goal(row, own) for row in recursive for own in row.peers if own.peer == OWN]


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return exp(sum(map(log, ratios)) / len(ratios))


def _goal(row: Row, own: Times) -> Goal:
    peers = {times.peer: times for times in row.peers}
    others = [times for times in row.peers if times.peer not in (OWN, ROUNDED, BY_HAND_ROUNDED)]
    best = min((times.end_to_end.median for times in others), default=None)
    rounded = peers[ROUNDED].kernel if ROUNDED in peers else None
    assert own.arrays_of_batches is not None and own.share is not None, "Cortex has a kernel"
    return Goal(
        row,
        own.share,
        own.end_to_end.median,
        _ahead(peers, OWN, BY_HAND),
        None if best is None else best / own.end_to_end.median,
        None if rounded is None or own.kernel is None else own.kernel.median / rounded.median,
        _ahead(peers, ROUNDED, BY_HAND_ROUNDED),
    )


def _ahead(peers: Mapping[str, Times], one: str, other: str) -> float | None:
    """Return how many times as long another takes from flat arrays as one does, in the median over batches."""
    mine, yours = (peers[name].arrays_of_batches if name in peers else None for name in (one, other))
    return None if mine is None or yours is None else float(np.median(np.divide(yours, mine)))


def lines_of(goals: Sequence[Goal]) -> list[str]:
    """Return how many rows meet each goal, a line each."""
    if not goals:
        return []
    shares = [goal.share >= goal.wanted_share for goal in goals]
    bounds = [goal.end_to_end <= goal.bound for goal in goals]
    said = [
        f"share of the roofline, 75 % at batch 1 and 85 % above: {_of(shares)}",
        f"end to end within roofline / share + 40 ns a node + 10 us: {_of(bounds)}",
    ]
    by_hand = [goal.by_hand for goal in goals if goal.by_hand is not None]
    if by_hand:
        said.append(
            f"from flat arrays, C++ by hand over Cortex: geometric mean {geometric_mean(by_hand):.2f} "
            f"({BY_HAND_MEAN} wanted), least {min(by_hand):.2f} ({BY_HAND_LEAST} wanted)"
        )
    best = [goal.best for goal in goals if goal.best is not None]
    if best:
        said.append(
            f"end to end, the best peer over Cortex: geometric mean {geometric_mean(best):.2f}, least {min(best):.2f} "
            f"({BEST_PEER} wanted where the bound leaves room)"
        )
    rounded = [goal.rounded for goal in goals if goal.rounded is not None]
    if rounded:
        said.append(
            f"the kernel over that in bfloat16: geometric mean {geometric_mean(rounded):.2f}, least {min(rounded):.2f}"
        )
    by_hand = [goal.by_hand_rounded for goal in goals if goal.by_hand_rounded is not None]
    if by_hand:
        said.append(
            f"from flat arrays in bfloat16, C++ by hand over Cortex: geometric mean {geometric_mean(by_hand):.2f}, "
            f"least {min(by_hand):.2f}"
        )
    return said


def _of(met: Sequence[bool]) -> str:
    return f"met in {sum(met)} of {len(met)} rows"
