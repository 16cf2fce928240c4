"""The machine's ceilings: how fast its cores multiply and add, and how fast they read from each cache.

    python -m bench.ceilings [--threads N]

The loops are programs of the IR, compiled as all others are, so no other compiler is needed. Each core reads memory
of its own. The least time of several runs counts: other jobs only ever make a run slower.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from ragged.compiled.ceilings import FLOATS, PEAK, READ, compiled, enough_steps, timed
from ragged.machine import this_machine
from ragged.runtime.cores import usable_cores
from ragged.runtime.memory import aligned_empty

_RUNS = 12
_RUN_NS = 8_000_000


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """What is read in a second, in GB/s by all workers, when each one's share has so many bytes.

    It holds for shares up to `up_to` bytes; None: for larger ones too.
    """

    cache: str
    share: int
    up_to: int | None
    gbs: float


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Of so many workers together: GFLOP/s of float32 multiply-adds, and bandwidths, the smallest share first."""

    workers: int
    gflops: float
    bandwidths: tuple[Bandwidth, ...]

    def read_gbs(self, share: float) -> float:
        """Return the bandwidth of the cache that holds `share` bytes for each worker."""
        return next(each.gbs for each in self.bandwidths if each.up_to is None or share <= each.up_to)

    def best(self, other: Ceilings) -> Ceilings:
        """Return the higher of each ceiling."""
        pairs = zip(self.bandwidths, other.bandwidths, strict=True)
        faster = tuple(max(pair, key=lambda each: each.gbs) for pair in pairs)
        return Ceilings(self.workers, max(self.gflops, other.gflops), faster)


def measure_ceilings(workers: int, runs: int = _RUNS) -> Ceilings:
    """Measure this machine's ceilings for so many workers, in about a second."""
    return Ceilings(
        workers, _peak(workers, runs), tuple(_read(*point, workers, runs) for point in points(workers))
    )


def points(workers: int) -> list[tuple[str, int, int | None]]:
    """Return where bandwidth is measured: the cache, bytes of a worker's share, and up to what share it holds."""
    machine = this_machine()
    l1, l2 = machine.l1_bytes, machine.l2_bytes
    l3 = machine.l3_bytes // workers
    found: list[tuple[str, int, int | None]] = [
        ("L1", l1 * 3 // 4, l1),
        ("L2, half", l2 // 2, l2 // 2),
        ("L2, most", l2 * 7 // 8, l2),
    ]
    if l3 > 2 * l2:
        found.append(("L3", min(4 * l2, l3 // 2), l3))
    return [*found, ("memory", max(64 * 2**20, 8 * l3), None)]  # an eighth of it may still be in the cache


def _peak(workers: int, runs: int) -> float:
    call = compiled(PEAK.format(floats=FLOATS), workers)
    values = {"a": np.array([0.5, 1.0], np.float32)}

    def nanoseconds(steps: int) -> int:
        return timed(call, {**values, "steps": steps})

    steps = enough_steps(nanoseconds, 1000, _RUN_NS)
    return 2 * FLOATS * workers * steps / min(nanoseconds(steps) for _ in range(runs))


def _read(cache: str, share: int, up_to: int | None, workers: int, runs: int) -> Bandwidth:
    call = compiled(READ, workers)
    blocks = share // (4 * FLOATS)
    x = aligned_empty((workers * blocks * FLOATS,), np.dtype(np.float32))
    x.fill(1.0)  # memory that was never written to is one page, many times over

    def nanoseconds(rounds: int) -> int:
        return timed(call, {"x": x, "blocks": blocks, "rounds": rounds})

    rounds = enough_steps(nanoseconds, 1, _RUN_NS)
    best = min(nanoseconds(rounds) for _ in range(runs))
    return Bandwidth(cache, share, up_to, x.nbytes * rounds / best)


def main() -> None:
    """Print the ceilings for one worker and for all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=usable_cores())
    for workers in sorted({1, parser.parse_args().threads}):
        found = measure_ceilings(workers)
        print(f"{workers} workers: {found.gflops:.0f} GFLOP/s")
        for each in found.bandwidths:
            print(f"  {each.cache:<10}{each.share // 1024:>8} KiB each {each.gbs:>8.0f} GB/s")


if __name__ == "__main__":
    main()
