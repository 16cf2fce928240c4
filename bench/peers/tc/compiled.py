"""This project: the text compiled for all sizes, with sizes fixed, or tuned for a row."""

from __future__ import annotations

import atexit
import os
from shutil import rmtree
from tempfile import mkdtemp
from time import perf_counter
from typing import Any, ClassVar

from bench.peers.tc.peer import Call, TcPeer
from bench.tc.workloads import Array, Operands, Workload, gradients, texts
from ragged import tc
from ragged.tc import TcFunction


class Measured(TcPeer):
    """One function for all sizes; each row has an empty cache on disk."""

    functions = frozenset({*texts(), *(each.function for each in gradients())})
    fixed: ClassVar[bool] = False
    tuning_seconds: ClassVar[float] = 0.0

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._caches = mkdtemp()
        atexit.register(rmtree, self._caches, ignore_errors=True)
        self._empty_cache()
        first = tc.define("def first(float(N) x) -> (y) { y(i) = x(i) }").first
        first.compile(threads=threads)  # imports what compiles

    def call(self, workload: Workload, operands: Operands) -> Call:
        """See `TcPeer`."""
        self._empty_cache()
        function, given = self._compiled(workload), tuple(operands.values())
        if self.tuning_seconds:
            function.tune(*given, seconds=self.tuning_seconds)
        return lambda: function(*given)

    def arrays(self, result: Any) -> list[Array]:
        """See `TcPeer`."""
        return list(result.values()) if isinstance(result, dict) else [result]

    def cached_seconds(self, workload: Workload) -> float:
        """See `TcPeer`."""
        begin = perf_counter()
        self._compiled(workload)
        return perf_counter() - begin

    def _compiled(self, workload: Workload) -> TcFunction:
        sizes = workload.sizes if self.fixed else None
        return tc.define(workload.text)[workload.function].compile(sizes=sizes, threads=self.threads)

    def _empty_cache(self) -> None:
        os.environ["RAGGED_CACHE_DIR"] = mkdtemp(dir=self._caches)


class Fixed(Measured):
    """All sizes known when it compiles."""

    fixed = True


class Tuned(Fixed):
    """The best of what a search of a minute finds for the row; compiling includes it."""

    tuning_seconds = 60.0
