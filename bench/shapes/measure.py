"""Measuring: answers first, then times, the peers taking turns shape by shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bench.process import PeerFailed
from bench.results import spread
from bench.shapes.figures import measure_figures
from bench.shapes.problems import ShapesProblem
from bench.shapes.process import ShapesProcess
from bench.shapes.results import (
    Bits,
    Figures,
    Fresh,
    Grown,
    Served,
    ShapeRow,
    ShapesRefused,
    ShapeTimes,
    Tuned,
)
from bench.shapes.tuning import tune_dense
from bench.turns import in_turns

LARGEST_ERROR = 1e-5
"""max|a - b| / max(1, max|b|): the bound that the project sets itself in float32."""
_CHUNK = 50
"""Fresh shapes of a peer's turn."""
FRESH_RATIO, FRESH_US = 1.05, 20.0
"""What a first call may take: so many times a later one, and so many microseconds more."""


class Say(Protocol):
    """Takes a line about what is going on; one that is `lasting` stays."""

    def __call__(self, text: str, *, lasting: bool = False) -> None:
        """Show the line."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a shape is called: for so many seconds, between two numbers of calls; `pause` is before each turn."""

    seconds: float = 0.05
    least: int = 3
    most: int = 25
    pause: float = 0.02


@dataclass(slots=True)
class Measurements:
    """All that has been found so far."""

    pace: Pace
    say: Say
    rows: list[ShapeRow] = field(default_factory=list)
    served: list[Served] = field(default_factory=list)
    fresh: list[Fresh] = field(default_factory=list)
    bits: list[Bits] = field(default_factory=list)
    grown: list[Grown] = field(default_factory=list)
    tuned: list[Tuned] = field(default_factory=list)
    refused: list[ShapesRefused] = field(default_factory=list)
    figures: Figures | None = None

    def sweep(self, problem: ShapesProblem, peers: Sequence[ShapesProcess]) -> None:
        """Time every shape of a problem in every peer that has it and gives the right answers."""
        self.say(f"{problem.name}, {problem.threads} threads", lasting=True)
        right = [(peer, errors) for peer in peers if (errors := self._checked(problem, peer)) is not None]
        times = self._clock(problem, [peer for peer, _ in right])
        errors_of = {peer.name: errors for peer, errors in right}
        for number, (label, sizes) in enumerate(zip(problem.labels, problem.shapes, strict=True)):
            found = [
                ShapeTimes(name, spread([each / 1000 for each in calls[number]]), errors_of[name][number])
                for name, calls in times.items()
            ]
            self.rows.append(ShapeRow(problem.name, problem.threads, label, sizes.flops, found))

    def stream(self, problem: ShapesProblem, peers: Sequence[ShapesProcess]) -> None:
        """Call shapes that no peer has seen: all first calls count, those that compile included.

        The first shape is checked and warms up: what is made once for all is made there.
        """
        self.say(f"{len(problem.shapes)} fresh shapes", lasting=True)
        ready = [peer for peer in peers if self._made(problem, peer) and self._check_some(problem, peer, [0])]
        total = len(problem.shapes)
        chunks = [range(begin, min(total, begin + _CHUNK)) for begin in range(1, total, _CHUNK)]

        def measure(peer: ShapesProcess, turn: int, chunk: range) -> list[list[int]]:
            self.say(f"fresh shapes {chunk.start} to {chunk.stop}, {peer.name}")
            return peer.fresh(chunk, 2)

        found = in_turns(ready, chunks, self.pace.pause, measure, self._refuser(problem))
        last = list(range(max(0, total - 5), total))
        for peer in ready:
            if peer.name in found and self._check_some(problem, peer, last):
                self.fresh.append(_fresh(peer.name, [calls for chunk in found[peer.name] for calls in chunk]))

    def rows_of_bits(self, problem: ShapesProblem, peers: Sequence[ShapesProcess]) -> None:
        """Compare each shape's rows with the same rows of the largest, bit by bit."""
        for peer in peers:
            self.say(f"bits of rows, {peer.name}", lasting=True)
            if not self._made(problem, peer):
                continue
            try:
                of = peer.compare_rows()
            except PeerFailed as failure:
                self._refuse(peer.name, problem, str(failure))
                continue
            counts = (of.elements, of.different, of.shapes, of.shapes_different, of.digest)
            self.bits.append(Bits(peer.name, problem.threads, *counts))

    def memory(self, problem: ShapesProblem, peers: Sequence[ShapesProcess]) -> None:
        """Weigh a process over shapes after it has served as many others: the second half of the problem's."""
        half = len(problem.shapes) // 2
        for peer in peers:
            self.say(f"memory over {len(problem.shapes)} shapes, {peer.name}", lasting=True)
            if not self._made(problem, peer):
                continue
            try:
                peer.fresh(range(half), 0)
                grown = peer.growth(range(half, len(problem.shapes)))
            except (PeerFailed, OSError) as failure:
                self._refuse(peer.name, problem, str(failure))
                continue
            self.grown.append(Grown(peer.name, len(problem.shapes), grown))

    def tuning(self, problem: ShapesProblem, seconds: float) -> None:
        """Search for what is faster than what was predicted, by measuring."""
        self.say(f"tuning for {seconds:.0f} seconds", lasting=True)
        self.tuned.append(tune_dense(problem, seconds))

    def paper_figures(self, lengths: Sequence[int], threads: int) -> None:
        """Measure what the paper's figures 12 to 14 show."""
        self.say("the paper's figures 12 to 14", lasting=True)
        self.figures = measure_figures(lengths, threads, self.pace.seconds)

    def _checked(self, problem: ShapesProblem, peer: ShapesProcess) -> list[float] | None:
        """Make the problem and compare all answers; return the errors, or None if the peer is not to be timed."""
        if not self._made(problem, peer):
            return None
        return self._check_some(problem, peer, range(len(problem.shapes)))

    def _made(self, problem: ShapesProblem, peer: ShapesProcess) -> bool:
        self.say(f"{problem.name}: {peer.name} is made")
        try:
            seconds = peer.make(problem)
            if seconds is None:
                return False
            details = peer.details()
        except PeerFailed as failure:
            self._refuse(peer.name, problem, str(failure))
            return False
        self.served.append(Served(problem.name, problem.threads, peer.name, seconds, **details))
        return True

    def _check_some(
        self, problem: ShapesProblem, peer: ShapesProcess, shapes: Sequence[int]
    ) -> list[float] | None:
        errors = []
        for number in shapes:
            self.say(f"{problem.name} {problem.labels[number]}: checking {peer.name}")
            try:
                errors.append(peer.error(number))
            except PeerFailed as failure:
                self._refuse(peer.name, problem, str(failure))
                return None
            if not errors[-1] <= LARGEST_ERROR:
                why = f"its answer is off by {errors[-1]:.1e} at {problem.labels[number]}"
                self._refuse(peer.name, problem, why)
                return None
        return errors

    def _clock(self, problem: ShapesProblem, peers: Sequence[ShapesProcess]) -> dict[str, list[list[int]]]:
        pace = self.pace

        def timed(peer: ShapesProcess, turn: int, shape: int) -> list[int]:
            self.say(f"{problem.name} {problem.labels[shape]}: timing {peer.name}")
            return peer.time(shape, pace.seconds, pace.least, pace.most)

        return in_turns(peers, range(len(problem.shapes)), pace.pause, timed, self._refuser(problem))

    def _refuser(self, problem: ShapesProblem) -> Callable[[str, str], None]:
        return lambda name, why: self._refuse(name, problem, why)

    def _refuse(self, name: str, problem: ShapesProblem, why: str) -> None:
        self.refused.append(ShapesRefused(name, f"{problem.name}, {problem.threads} threads", why))


def _fresh(peer: str, calls: Sequence[Sequence[int]]) -> Fresh:
    first = [each[0] / 1000 for each in calls]
    later = [min(each[1:]) / 1000 for each in calls]
    pairs = list(zip(first, later, strict=True))
    extra = spread([one - other for one, other in pairs])
    over = _share_over(pairs)
    noise = _share_over([(each[1] / 1000, min(each[2:]) / 1000) for each in calls])
    return Fresh(peer, len(calls), spread(first), spread(later), extra, over, noise, sum(first) / 1e6)


def _share_over(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the share of pairs of microseconds where the first exceeds the bound that the second gives."""
    return sum(one > FRESH_RATIO * other + FRESH_US for one, other in pairs) / len(pairs)
