"""PyTorch as it comes: `linear` and `bmm` are MKL's, `conv2d` on channels-last images oneDNN's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from bench.peers.shapes.peer import Call, ShapesPeer
from bench.shapes.problems import Array, BatchedProduct, Convolution, Dense, ShapesProblem, Sizes


class Measured(ShapesPeer):
    """Each call is without gradients."""

    kinds = frozenset({Dense, BatchedProduct, Convolution})

    def __init__(self, problem: ShapesProblem) -> None:
        torch.set_num_threads(problem.threads)
        self._problem = problem
        self._weights: dict[tuple[int, ...], Tensor] = {}

    def call(self, sizes: Sizes, operands: Sequence[Array]) -> Call:
        """See `ShapesPeer`."""
        lhs, *rest = map(torch.from_numpy, operands)
        match sizes:
            case Dense():
                weights = self._of(sizes)
                return _inferring(lambda: self.linear(lhs, weights))
            case Convolution(kernel=kernel):
                taps = self._of(sizes).contiguous(memory_format=torch.channels_last)
                images = lhs.permute(0, 3, 1, 2)
                return _inferring(lambda: functional.conv2d(images, taps, padding=kernel // 2))
            case BatchedProduct(transposed=transposed):
                rhs = rest[0].transpose(1, 2) if transposed else rest[0]
                return _inferring(lambda: self.bmm(lhs, rhs))

    def linear(self, x: Tensor, weights: Tensor) -> Tensor:
        """Return x Wᵀ."""
        return functional.linear(x, weights)

    def bmm(self, lhs: Tensor, rhs: Tensor) -> Tensor:
        """Return a batch of products."""
        return torch.bmm(lhs, rhs)

    def array(self, result: Any) -> Array:
        """See `ShapesPeer`; images become (batch, side, side, channels)."""
        found: Array = (result.permute(0, 2, 3, 1) if result.dim() == 4 else result).numpy()
        return found

    def _of(self, sizes: Dense | Convolution) -> Tensor:
        if sizes.weights not in self._weights:
            self._weights[sizes.weights] = torch.from_numpy(self._problem.weights(sizes))
        return self._weights[sizes.weights]


def _inferring(call: Callable[[], Tensor]) -> Callable[[], Tensor]:
    def run() -> Tensor:
        with torch.inference_mode():
            return call()

    return run
