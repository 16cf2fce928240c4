"""Measuring one case: answers first, then times, the peers taking turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.operators.cases import Case
from bench.operators.problems import ON_MATRICES
from bench.operators.process import RaggedProcess
from bench.operators.reference import LARGEST_ERROR, largest_error, wanted
from bench.operators.results import Refused, Row, Times
from bench.operators.work import useful_flops
from bench.process import PeerFailed
from bench.results import spread
from bench.turns import in_turns

Say = Callable[[str], None]
"""Takes a line about what is going on."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a batch is run: as often as fits into so many seconds, between two numbers.

    `pause` is the seconds after which the threads of the peer before have gone to sleep.
    """

    seconds: float = 0.5
    least: int = 3
    most: int = 15
    pause: float = 0.1

    def repeats(self, nanoseconds: int) -> int:
        """Return how often to run what takes so long."""
        return min(self.most, max(self.least, int(self.seconds * 1e9 / max(1, nanoseconds))))


def measure_case(
    case: Case, peers: Sequence[RaggedProcess], pace: Pace, say: Say
) -> tuple[Row, list[Refused]]:
    """Give the problem to every peer, compare answers, and time those that are right."""
    errors: dict[str, float] = {}
    refused: list[Refused] = []
    say("computing in float64")
    expected = [wanted(case.problem, case.problem.inputs(batch)) for batch in case.timed]
    for peer in peers:
        say(f"checking {peer.name}")
        why = None
        try:
            peer.solve(case.problem)
            pairs = zip(case.timed, expected, strict=True)
            error = max(largest_error(peer.answers(batch), answers) for batch, answers in pairs)
            if not error <= LARGEST_ERROR:
                why = f"its answers are off by {error:.1e}"
        except PeerFailed as failure:
            why = str(failure)
        if why is None:
            errors[peer.name] = error
        else:
            refused.append(Refused(peer.name, case.problem.operator.value, case.shape, why))
    right = [peer for peer in peers if peer.name in errors]
    return _row(case, errors, _clock(case, right, pace, say, refused)), refused


def _clock(
    case: Case, peers: Sequence[RaggedProcess], pace: Pace, say: Say, refused: list[Refused]
) -> dict[str, list[list[int]]]:
    """Time every batch in every peer, in nanoseconds. One that fails is `refused`."""

    def timed(peer: RaggedProcess, turn: int, batch: int) -> list[int]:
        say(f"batch {turn + 1} of {len(case.timed)}, {peer.name}")
        (first,) = peer.time(batch, case.warm, 1)
        return peer.time(batch, case.warm, pace.repeats(first))

    def refuse(peer: str, why: str) -> None:
        refused.append(Refused(peer, case.problem.operator.value, case.shape, why))

    return in_turns(peers, case.timed, pace.pause, timed, refuse)


def _row(case: Case, errors: dict[str, float], times: dict[str, list[list[int]]]) -> Row:
    problem = case.problem
    shapes = [problem.batches[batch] for batch in case.timed]
    sequences = problem.operator not in ON_MATRICES
    flops = float(np.median([useful_flops(problem, batch) for batch in case.timed]))
    found = []
    for peer in times:
        of_batches = [float(np.median(calls)) / 1000 for calls in times[peer]]
        took = spread(of_batches if len(of_batches) > 1 else [call / 1000 for call in times[peer][0]])
        gflops = flops / took.median / 1000 if flops else None
        found.append(Times(peer, errors[peer], took, gflops, of_batches))
    rows = float(np.median([shape.sum() for shape in shapes])) if sequences else 0.0
    return Row(problem.operator.value, case.shape, len(shapes), len(shapes[0]), rows, flops, found)
