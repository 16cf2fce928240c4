"""This project: a model compiled for this machine."""

from __future__ import annotations

from collections.abc import Sequence

import cortex
from bench.models import MODELS
from bench.peers.job import Answers, Job
from bench.peers.peer import Peer
from bench.trees import Tree


class Measured(Peer):
    """One compiled function, which keeps the results of the roots."""

    def __init__(self, job: Job) -> None:
        kind = MODELS[job.cell]
        vocab = len(job.params[kind.table])
        self._outputs = kind.outputs
        self._fn = cortex.compile(
            kind.build(job.hidden, vocab), job.params, threads=job.threads, keep="roots"
        )

    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """See `Peer`."""
        out = self._fn(list(trees))
        return {name: out[name] for name in self._outputs}

    def kernel_times(self, trees: Sequence[Tree], repeats: int) -> list[int]:
        """See `Peer`: the median of what the function itself says of its kernel."""
        return [int(self._fn.profile(list(trees), repeats).kernel_us.median * 1000)]
