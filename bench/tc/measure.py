"""Measuring a row: answers first, then times, the peers taking turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import numpy as np

from bench.ceilings import Ceilings
from bench.peers.tc import OWN, OWN_FIXED, find
from bench.process import PeerFailed, ServedProcess
from bench.shapes.measure import LARGEST_ERROR, Say
from bench.shapes.results import ShapesRefused
from bench.tc.formulas import FORMULAS
from bench.tc.messages import Prepare, Prepared, TimeCalls
from bench.tc.results import TcRow, TcTimes
from bench.tc.workloads import RANDOM, TABLES, Array, Operands, Workload, definition
from bench.turns import in_turns

TURNS = 4
"""The calls of a peer are made in so many turns."""


class TcProcess(ServedProcess):
    """A peer, in a process of its own; what each message asks is said in `bench.tc.messages`."""

    environment = MappingProxyType({"MALLOC_MMAP_MAX_": "0", "KMP_BLOCKTIME": "20"})
    patience = 900.0  # it may tune

    def __init__(self, name: str, threads: int) -> None:
        super().__init__(name, "bench.tc.serve", find(name).module, threads)


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a peer calls: so many times, or what so many seconds are enough for; `pause` is before each turn."""

    calls: int = 1000
    seconds: float = 2.0
    pause: float = 0.05


@dataclass(slots=True)
class Measurements:
    """The rows found so far, and what was refused."""

    pace: Pace
    ceilings: Ceilings
    say: Say
    rows: list[TcRow] = field(default_factory=list)
    refused: list[ShapesRefused] = field(default_factory=list)

    def measure(self, workload: Workload, peers: Sequence[TcProcess]) -> None:
        """Time a row in every peer that has it and gives the right answers."""
        self.say(workload.label, lasting=True)
        if workload.group == RANDOM:
            peers = [peer for peer in peers if peer.name in (OWN, OWN_FIXED)]
        with TemporaryDirectory() as folder:
            path = Path(folder) / "expected.npz"
            np.savez(path, *reference(workload))
            checked = [(peer, self._checked(workload, path, peer)) for peer in peers]
        right = {peer.name: (peer, prepared) for peer, prepared in checked if prepared is not None}
        times = self._clock(workload, [peer for peer, _ in right.values()])
        found = [_times(name, calls, right[name][1]) for name, calls in times.items()]
        self.rows.append(self._row(workload, found))

    def _checked(self, workload: Workload, path: Path, peer: TcProcess) -> Prepared | None:
        """Make the function and compare its results; return None if the peer is not to be timed."""
        self.say(f"{workload.label}: {peer.name} compiles")
        try:
            prepared = peer.ask(Prepare(workload, path))
        except PeerFailed as failure:
            self._refuse(peer.name, workload, str(failure))
            return None
        assert prepared is None or isinstance(prepared, Prepared)
        if prepared is not None and not prepared.error <= LARGEST_ERROR:
            self._refuse(peer.name, workload, f"its answer is off by {prepared.error:.1e}")
            return None
        return prepared

    def _clock(self, workload: Workload, peers: Sequence[TcProcess]) -> dict[str, list[int]]:
        pace = self.pace
        request = TimeCalls(-(-pace.calls // TURNS), pace.seconds / TURNS)

        def timed(peer: TcProcess, turn: int, _: int) -> list[int]:
            self.say(f"{workload.label}: timing {peer.name}, turn {turn + 1}")
            calls = peer.ask(request)
            assert isinstance(calls, list)
            return calls

        def refuse(name: str, why: str) -> None:
            self._refuse(name, workload, why)

        found = in_turns(peers, range(TURNS), pace.pause, timed, refuse)
        return {name: [each for calls in turns for each in calls] for name, turns in found.items()}

    def _row(self, workload: Workload, found: list[TcTimes]) -> TcRow:
        flops, moved = workload.flops, workload.bytes
        share = moved / self.ceilings.workers
        of_flops = flops / self.ceilings.gflops / 1000
        of_bytes = moved / self.ceilings.read_gbs(share) / 1000
        in_memory = self.ceilings.read_gbs(share) == self.ceilings.bandwidths[-1].gbs
        statements = len(str(definition(workload.function)[1]).splitlines()) - 2
        return TcRow(
            workload.label,
            workload.function,
            workload.group,
            statements,
            flops,
            moved,
            max(of_flops, of_bytes),
            in_memory and of_bytes > of_flops,
            found,
        )

    def _refuse(self, name: str, workload: Workload, why: str) -> None:
        self.refused.append(ShapesRefused(name, workload.label, why))


def reference(workload: Workload) -> list[Array]:
    """Return the results in float64, by NumPy; of gradients, which it has none of, by PyTorch."""
    given = workload.operands()
    if workload.differentiated is not None:
        return _reference_gradient(workload, given)
    for table, indices in TABLES.get(workload.function, {}).items():  # of the rest of a table nothing is read
        rows, places = np.unique(given[indices], return_inverse=True)
        given[table], given[indices] = given[table][rows], places.reshape(given[indices].shape)
    found = FORMULAS[workload.function](np, *_wide(given).values())
    return list(found) if isinstance(found, tuple) else [found]


def _wide(given: Operands) -> Operands:
    """Return arguments with those of floats in float64."""
    return {
        name: each if isinstance(each, int) or each.dtype.kind == "i" else each.astype(float)
        for name, each in given.items()
    }


def _reference_gradient(workload: Workload, given: Operands) -> list[Array]:
    import torch  # the peer that gradients are compared with

    from bench.peers.tc.torch_eager import Measured

    return [each.numpy() for each in Measured(torch.get_num_threads()).call(workload, _wide(given))()]


def _times(peer: str, calls: Sequence[int], prepared: Prepared) -> TcTimes:
    p0, p50, p90 = (float(each) / 1000 for each in np.percentile(calls, (0, 50, 90)))
    return TcTimes(
        peer, p0, p50, p90, len(calls), prepared.error, prepared.compile_seconds, prepared.cached_seconds
    )
