"""PyTorch level by level, what a level computes compiled by `torch.compile`: inductor's loops around MKL's products.

A level's number of nodes is a dynamic shape. PyTorch compiles for one node on its own, which was slower than not
compiled, and in torch 2.13 is wrong for TreeGRU: levels of one node are computed as in `torch_levels`. Freezing,
`max_autotune` and a wrapper in C++ made no level faster.
"""

from __future__ import annotations

import torch
import torch._inductor.config as inductor
from torch import Tensor

from bench.peers import torch_levels
from bench.peers.job import Job


class Measured(torch_levels.Measured):
    """As `torch_levels`; the loop over levels stays Python's."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        inductor.compile_threads = 1  # for one function at a time, other processes take longer to start
        torch._dynamo.reset()  # the models before count towards how often a function may be compiled
        plain = self._model.level
        compiled = torch.compile(plain, dynamic=True, fullgraph=True)

        def level(states: list[Tensor], rows: Tensor, begin: int, end: int, x: Tensor | None) -> None:
            (compiled if end - begin > 1 else plain)(states, rows, begin, end, x)

        setattr(self._model, "level", level)  # noqa: B010 (a method is not to be assigned to)
        if (leaves := getattr(self._model, "leaves", None)) is not None:
            setattr(self._model, "leaves", torch.compile(leaves, dynamic=True, fullgraph=True))  # noqa: B010
