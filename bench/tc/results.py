"""What a run of the benchmark of Tensor Comprehensions finds out, as it is written to JSON."""

from __future__ import annotations

from dataclasses import dataclass

from bench.ceilings import Ceilings
from bench.shapes.results import ShapesRefused


@dataclass(frozen=True, slots=True)
class TcTimes:
    """One peer on one row: microseconds of so many calls (the least, the median, the 90th percentile), and its error.

    `compile_seconds` are from the text or the formula to the first result, less a later call; `cached_seconds` from
    the text to a function that the cache on disk holds, None without such a cache.
    """

    peer: str
    p0: float
    p50: float
    p90: float
    calls: int
    error: float
    compile_seconds: float
    cached_seconds: float | None


@dataclass(frozen=True, slots=True)
class TcRow:
    """A function at some sizes: operations, bytes of arguments and results, and times by peer.

    `floor` are the microseconds of its operations at the measured peak, or of its bytes at the bandwidth of the cache
    that holds them, whichever is more; `memory_bound` says that they are those of memory.
    """

    label: str
    function: str
    group: str
    statements: int
    flops: int
    bytes: int
    floor: float
    memory_bound: bool
    peers: list[TcTimes]

    def of(self, peer: str) -> TcTimes | None:
        """Return the times of a peer, None if it was not timed."""
        return next((each for each in self.peers if each.peer == peer), None)


@dataclass(frozen=True, slots=True)
class TcSettings:
    """What a run was asked for: so many calls of each peer, or those that so many seconds are enough for."""

    threads: int
    calls: int
    seconds: float
    pause: float
    quick: bool


@dataclass(frozen=True, slots=True)
class TcResult:
    """A run: its settings, the ceilings, the rows, and the peers that are not timed."""

    settings: TcSettings
    ceilings: Ceilings
    rows: list[TcRow]
    refused: list[ShapesRefused]
