"""The process of one peer of the benchmark of Tensor Comprehensions: answers requests until there are no more.

python -m bench.tc.serve MODULE FILE_DESCRIPTOR
"""

from __future__ import annotations

import gc
import os
from importlib import import_module
from pathlib import Path
from time import perf_counter, perf_counter_ns

import numpy as np

from bench.peers.peer import time_calls
from bench.peers.tc.peer import Call, TcPeer
from bench.serve import serve
from bench.tc.messages import Prepare, Prepared, TimeCalls


class TcServer:
    """A peer, and the call of the row that it was last given."""

    def __init__(self, module: str, threads: int) -> None:
        path, _, name = module.partition(":")
        self._peer: TcPeer = getattr(import_module(path), name or "Measured")(threads)
        self._call: Call | None = None

    def reply(self, request: Prepare | TimeCalls) -> object:
        """Do what is asked."""
        if isinstance(request, Prepare):
            self._call = None  # the row before gives back its memory
            return self._prepare(request) if request.workload.function in self._peer.functions else None
        assert self._call is not None, "Prepare comes first"
        (first,) = time_calls(self._call, 1)
        enough = max(3, int(request.seconds * 1e9 / max(1, first)))
        return time_calls(self._call, min(request.calls, enough))

    def _prepare(self, request: Prepare) -> Prepared:
        gc.collect()
        operands = request.workload.operands()
        begin = perf_counter_ns()
        self._call = self._peer.call(request.workload, operands)
        found = self._peer.arrays(self._call())
        seconds = (perf_counter_ns() - begin) / 1e9
        begin_again = perf_counter()
        self._call()
        seconds -= perf_counter() - begin_again
        error = _error(found, request.expected)
        return Prepared(error, max(0.0, seconds), self._peer.cached_seconds(request.workload))


def _error(found: list[np.ndarray], path: Path) -> float:
    """Return the largest error; infinite where a number is missing, or is none."""
    worst = 0.0
    with np.load(path) as expected:
        if len(found) != len(expected):
            return float("inf")
        for each, name in zip(found, expected, strict=True):
            wanted = expected[name]
            if each.shape != wanted.shape or not np.isfinite(each).all():
                return float("inf")
            worst = max(worst, float(np.abs(each - wanted).max() / max(1.0, np.abs(wanted).max())))
    return worst


if __name__ == "__main__":
    serve(lambda module: TcServer(module, int(os.environ["OMP_NUM_THREADS"])).reply)
