"""Measuring one case: answers first, then times, the peers taking turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.answers import LARGEST_ERROR, largest_error, oracle
from bench.ceilings import Ceilings
from bench.messages import Timed
from bench.process import PeerFailed, PeerProcess
from bench.results import Refused, Row, Times, spread
from bench.roofline import Counting, Work, least_microseconds
from bench.trees import flatten, nodes
from bench.workloads import Batches, Case

AWAKE = 2
"""How often the batches to warm up with are run right before a measurement, so that threads are awake."""

Say = Callable[[str], None]
"""Takes a line about what is going on."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often each batch is run end to end, of fewer than ten trees and of more, and what comes before.

    `pause` is the seconds after which the threads of the peer before have gone to sleep.
    """

    small: int = 15
    large: int = 7
    pause: float = 0.05

    def repeats(self, batch: int) -> int:
        """Return the repeats of a batch of this size."""
        return self.small if batch < 10 else self.large


@dataclass(frozen=True, slots=True)
class Clocked:
    """What was measured of one case and batch size: a peer's error, and what it took for each batch."""

    case: Case
    batches: Batches
    errors: dict[str, float]
    times: dict[str, list[Timed]] = field(default_factory=dict)

    def row(self, ceilings: Ceilings) -> Row:
        """Return it beside the roofline under these ceilings."""
        batches = [self.case.of(batch) for batch in self.batches.timed]
        counting = Counting(self.case.model)
        work: list[list[Work]] = [counting.levels(trees) for trees in batches]
        floors = [least_microseconds(levels, ceilings) for levels in work]
        return Row(
            self.case.workload.cell.value,
            self.case.job.hidden,
            self.batches.size,
            len(batches),
            float(np.median([len(nodes(trees)) for trees in batches])),
            float(np.median([sum(level.flops for level in levels) for levels in work])),
            float(np.median(floors)),
            floors,
            [_times(peer, error, self.times[peer], floors) for peer, error in self.errors.items()],
        )


def measure_case(
    case: Case, peers: Sequence[PeerProcess], pace: Pace, say: Say
) -> tuple[list[Clocked], list[Refused]]:
    """Build the case in every peer, compare answers, and time those that are right."""
    say("evaluating the recursion in float64")
    wanted = oracle(case)
    errors: dict[str, float] = {}
    refused: list[Refused] = []
    flat = [flatten(tree) for tree in case.trees]
    for peer in peers:
        say(f"building and checking {peer.name}")
        try:
            peer.build(case.job, flat)
            error = largest_error(case, peer, wanted)
        except PeerFailed as failure:
            refused.append(Refused(peer.name, case.workload.cell.value, case.job.hidden, str(failure)))
            continue
        if error <= LARGEST_ERROR:
            errors[peer.name] = error
        else:
            why = f"its answers are off by {error:.1e}"
            refused.append(Refused(peer.name, case.workload.cell.value, case.job.hidden, why))
    right = [peer for peer in peers if peer.name in errors]
    return [_clock(Clocked(case, batches, errors), right, pace, say) for batches in case.batches], refused


def _clock(clocked: Clocked, peers: Sequence[PeerProcess], pace: Pace, say: Say) -> Clocked:
    """Time every batch in every peer; each turn another peer begins."""
    batches = clocked.batches
    clocked.times.update({peer.name: [] for peer in peers})
    for turn, batch in enumerate(batches.timed):
        start = turn % max(1, len(peers))
        for peer in (*peers[start:], *peers[:start]):
            say(f"batches of {batches.size}: {turn + 1} of {len(batches.timed)}, {peer.name}")
            time.sleep(pace.pause)
            timed = peer.time(batch, batches.warm * AWAKE, pace.repeats(batches.size))
            clocked.times[peer.name].append(timed)
    return clocked


def _times(peer: str, error: float, timed: Sequence[Timed], floors: Sequence[float]) -> Times:
    end_to_end = [_median(each.end_to_end) for each in timed]
    kernel = [_median(each.kernel) for each in timed if each.kernel is not None]
    shares = [floor / took for floor, took in zip(floors, kernel, strict=True)] if kernel else []
    return Times(
        peer,
        error,
        spread(end_to_end),
        spread([each.end_to_end[0] / 1000 for each in timed]),
        spread(kernel) if kernel else None,
        float(np.median(shares)) if shares else None,
        end_to_end,
        kernel or None,
    )


def _median(nanoseconds: Sequence[int]) -> float:
    """Return the median, in microseconds."""
    return float(np.median(nanoseconds)) / 1000
