"""This project: a model compiled for this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import cortex
from bench.models import MODELS
from bench.peers.job import Answers, Job
from bench.peers.peer import Peer, time_calls
from bench.trees import Tree
from cortex.compiler.compile import Precision


class Measured(Peer):
    """One compiled function, which keeps the results of the roots."""

    precision: ClassVar[Precision] = "float32"

    def __init__(self, job: Job) -> None:
        kind = MODELS[job.cell]
        vocab = 0 if kind.table is None else len(job.params[kind.table])
        self._outputs = kind.outputs
        self._fn = cortex.compile(
            kind.build(job.hidden, vocab),
            job.params,
            threads=job.threads,
            keep="roots",
            precision=self.precision,
        )

    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """See `Peer`."""
        out = self._fn(list(trees))
        return {name: out[name] for name in self._outputs}

    def kernel_times(self, trees: Sequence[Tree], repeats: int) -> list[int]:
        """See `Peer`: the median of what the function itself says of its kernel."""
        return [int(self._fn.profile(list(trees), repeats).kernel_us.median * 1000)]

    def arrays_times(self, trees: Sequence[Tree], repeats: int) -> list[int]:
        """See `Peer`: calls on what `linearize` returns; results are arrays of their own."""
        batch = self._fn.linearize(list(trees))
        return time_calls(lambda: self._fn(batch), repeats)
