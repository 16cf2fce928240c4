"""`torch.compile(dynamic=True)`: sizes are symbols from the first compilation on."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from bench.peers.shapes import torch_eager
from bench.shapes.problems import BatchedProduct, Dense, ShapesProblem


class Measured(torch_eager.Measured):
    """It compiles in the first call."""

    kinds = frozenset({Dense, BatchedProduct})

    def __init__(self, problem: ShapesProblem) -> None:
        super().__init__(problem)
        self._linear = torch.compile(functional.linear, dynamic=True)
        self._bmm = torch.compile(torch.bmm, dynamic=True)

    def linear(self, x: Tensor, weights: Tensor) -> Tensor:
        """See `torch_eager.Measured`."""
        result: Tensor = self._linear(x, weights)
        return result

    def bmm(self, lhs: Tensor, rhs: Tensor) -> Tensor:
        """See `torch_eager.Measured`."""
        result: Tensor = self._bmm(lhs, rhs)
        return result
