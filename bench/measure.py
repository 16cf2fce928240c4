"""Measuring one case: answers first, then times, the peers taking turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.answers import largest_error, oracle
from bench.ceilings import Ceilings
from bench.messages import Timed
from bench.peers import find
from bench.process import PeerFailed, PeerProcess
from bench.results import Refused, Row, Spread, Times, spread
from bench.roofline import Counting, Work, least_microseconds
from bench.trees import flatten, nodes
from bench.turns import in_turns
from bench.workloads import Batches, Case

AWAKE = 2
"""How often the batches to warm up with are run right before a measurement, so that threads are awake."""

Say = Callable[[str], None]
"""Takes a line about what is going on."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often each batch is run, of fewer than ten trees, of fewer than a hundred and of more, and what comes before.

    `pause` is the seconds after which the threads of the peer before have gone to sleep.
    """

    small: int = 15
    large: int = 7
    huge: int = 3
    pause: float = 0.05

    def repeats(self, batch: int) -> int:
        """Return the repeats of a batch of this size."""
        if batch < 10:
            return self.small
        return self.large if batch < 100 else self.huge


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
        counting = Counting(self.case.model, inner_carry=bool(self.case.job.payloads))
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
            [_times(peer, self.errors[peer], timed, floors) for peer, timed in self.times.items()],
        )


def measure_case(
    case: Case, peers: Sequence[PeerProcess], pace: Pace, say: Say
) -> tuple[list[Clocked], list[Refused], list[Refused]]:
    """Build the case in every peer, compare answers, and time those that are right.

    Returned besides are those that are refused, and those that have no such model.
    """
    say("evaluating the recursion in float64")
    wanted = oracle(case)
    errors: dict[str, float] = {}
    refused: list[Refused] = []
    absent: list[Refused] = []
    flat = [flatten(tree) for tree in case.trees]
    for peer in peers:
        say(f"building and checking {peer.name}")
        try:
            why = peer.build(case.job, flat)
            if why is not None:
                absent.append(Refused(peer.name, case.workload.cell.value, case.job.hidden, why))
                continue
            error = largest_error(case, peer, wanted)
        except PeerFailed as failure:
            refused.append(Refused(peer.name, case.workload.cell.value, case.job.hidden, str(failure)))
            continue
        if error <= find(peer.name).largest_error:
            errors[peer.name] = error
        else:
            why = f"its answers are off by {error:.1e}"
            refused.append(Refused(peer.name, case.workload.cell.value, case.job.hidden, why))
    right = [peer for peer in peers if peer.name in errors]
    clocked = []
    for batches in case.batches:
        clocked.append(_clock(Clocked(case, batches, errors), right, pace, say, refused))
        right = [peer for peer in right if peer.name in clocked[-1].times]
    return clocked, refused, absent


def _clock(
    clocked: Clocked, peers: Sequence[PeerProcess], pace: Pace, say: Say, refused: list[Refused]
) -> Clocked:
    """Time every batch in every peer. One that fails is `refused` from there on."""
    batches, case = clocked.batches, clocked.case

    def timed(peer: PeerProcess, turn: int, batch: range) -> Timed:
        say(f"batches of {batches.size}: {turn + 1} of {len(batches.timed)}, {peer.name}")
        return peer.time(batch, batches.warm * AWAKE, pace.repeats(batches.size))

    def refuse(peer: str, why: str) -> None:
        refused.append(Refused(peer, case.workload.cell.value, case.job.hidden, why))

    clocked.times.update(in_turns(peers, batches.timed, pace.pause, timed, refuse))
    return clocked


def _times(peer: str, error: float, timed: Sequence[Timed], floors: Sequence[float]) -> Times:
    end_to_end = _medians([each.end_to_end for each in timed])
    kernel = _medians([each.kernel for each in timed])
    arrays = _medians([each.arrays for each in timed])
    assert end_to_end is not None
    shares = None if kernel is None else [floor / took for floor, took in zip(floors, kernel, strict=True)]
    return Times(
        peer,
        error,
        _spread([each.end_to_end for each in timed]),
        spread([each.end_to_end[0] / 1000 for each in timed]),
        None if kernel is None else _spread([each.kernel or [] for each in timed]),
        None if arrays is None else _spread([each.arrays or [] for each in timed]),
        None if shares is None else float(np.median(shares)),
        end_to_end,
        kernel,
        arrays,
    )


def _medians(calls: Sequence[list[int] | None]) -> list[float] | None:
    """Return the median call of each batch, in microseconds; None where there are none."""
    known = [float(np.median(each)) / 1000 for each in calls if each is not None]
    return known or None


def _spread(calls: Sequence[list[int]]) -> Spread:
    """Return the spread of the batches' median calls: of the calls where there is one batch."""
    (only,) = calls if len(calls) == 1 else (None,)
    return spread(_medians(calls) or [] if only is None else [call / 1000 for call in only])
