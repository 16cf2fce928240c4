"""PyTorch on padded batches in parts of similar lengths: micro-batching (CoRa, appendix D.8 and figure 26).

The sequences are sorted by length and cut into parts, each padded to its own longest. The size of a part is the power
of two that is fastest on the batch: it is looked for before anything is timed.
"""

from __future__ import annotations

from time import perf_counter_ns

import numpy as np

from bench.operators.problems import Array, Inputs, Operator, Problem, Rows, split_rows
from bench.peers.ragged import torch_padded
from bench.peers.ragged.peer import Prepared, RaggedPeer

Parts = list[Prepared[object]]


class Measured(RaggedPeer):
    """Results are in the order of the sorted sequences."""

    operators = frozenset({Operator.ENCODER_LAYER, Operator.ATTENTION, Operator.MASKED_ATTENTION})

    def __init__(self, problem: Problem) -> None:
        self._padded = torch_padded.Measured(problem)

    def prepare(self, inputs: Inputs) -> Prepared[list[object]]:
        """See `RaggedPeer`."""
        assert isinstance(inputs, Rows)
        order = np.argsort(inputs.lengths, kind="stable")
        sequences = split_rows(inputs.values, inputs.lengths)
        sizes = [2**power for power in range(1, len(order).bit_length())]
        parts = min((self._parts(order, sequences, size) for size in sizes), key=_took)

        def read(found: list[object]) -> list[Array]:
            rows = [each for part, y in zip(parts, found, strict=True) for each in part.read(y)]
            return [rows[place] for place in np.argsort(order)]

        return Prepared(lambda: [part.run() for part in parts], read)

    def _parts(self, order: np.ndarray, sequences: list[Array], size: int) -> Parts:
        groups = ([sequences[place] for place in order[at : at + size]] for at in range(0, len(order), size))
        return [
            self._padded.prepare(
                Rows(np.array([len(each) for each in group], np.int32), np.concatenate(group))
            )
            for group in groups
        ]


def _took(parts: Parts) -> int:
    """Return the nanoseconds of the faster of two runs."""

    def run() -> int:
        begin = perf_counter_ns()
        for part in parts:
            part.run()
        return perf_counter_ns() - begin

    return min(run(), run())
