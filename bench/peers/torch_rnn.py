"""PyTorch's own nn.LSTM and nn.GRU, as they come: on a processor the first is oneDNN's where PyTorch has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from bench.peers.job import SEQUENTIAL, Answers, Array, Cell, Job, reset_after, stacked
from bench.peers.peer import Peer
from bench.trees import Tree, steps


class Measured(Peer):
    """A layer that is given a batch of sequences, all of one length, as one tensor (steps, sequences, hidden)."""

    lacks: ClassVar[Mapping[Cell, str]] = {
        **{cell: "it computes sequences" for cell in Cell if cell not in SEQUENTIAL},
        Cell.GRU: "nn.GRU is another cell, gru_reset_after",
    }

    def __init__(self, job: Job) -> None:
        torch.set_num_threads(job.threads)
        self._layer: torch.nn.RNNBase
        if job.cell is Cell.LSTM:
            self._layer = torch.nn.LSTM(job.hidden, job.hidden)
            order, after = "ifuo", np.zeros(4 * job.hidden, np.float32)
        else:
            self._layer = torch.nn.GRU(job.hidden, job.hidden)
            order, after = "rzg", reset_after(job)[1]
        weights: list[Array] = [
            stacked(job, "W", order),
            stacked(job, "U", order),
            stacked(job, "b", order),
            after,
        ]
        with torch.no_grad():
            for parameter, array in zip(self._layer.parameters(), weights, strict=True):
                parameter.copy_(torch.from_numpy(array))
        self._layer.eval()

    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """See `Peer`."""
        return self._run(_inputs(trees))

    def kernel(self, trees: Sequence[Tree]) -> Callable[[], object]:
        """See `Peer`."""
        inputs = _inputs(trees)
        return lambda: self._run(inputs)

    def _run(self, inputs: Tensor) -> Answers:
        with torch.inference_mode():
            states, _ = self._layer(inputs)
            return {"h": states[-1].numpy()}


def _inputs(sequences: Sequence[Tree]) -> Tensor:
    """Return what the steps carry, (steps, sequences, hidden)."""
    together = zip(*map(steps, sequences), strict=True)
    vectors = [step.x for each in together for step in each]
    return torch.from_numpy(np.concatenate(vectors)).view(-1, len(sequences), len(vectors[0]))
