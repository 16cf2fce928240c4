"""PyTorch level by level, what a level computes compiled by `torch.compile`: inductor's loops in C++ around MKL's products.

A level's number of nodes is a dynamic shape, so a level is compiled twice: for one node, which PyTorch compiles for on
its own, and for more. Freezing, `max_autotune` and a wrapper in C++ made no level faster: packed weights and
inductor's own products are for numbers of rows that are known.
"""

from __future__ import annotations

import torch

from bench.peers import torch_levels
from bench.peers.job import Job


class Measured(torch_levels.Measured):
    """As `torch_levels`; the loop over levels stays Python's."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        torch._dynamo.reset()  # the models before count towards how often a function may be compiled
        for step in ("level", "leaves"):
            if (plain := getattr(self._model, step, None)) is not None:
                setattr(self._model, step, torch.compile(plain, dynamic=True, fullgraph=True))
