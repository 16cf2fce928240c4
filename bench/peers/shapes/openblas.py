"""NumPy's products, which are OpenBLAS's: both operands are packed in each call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.peers.shapes.peer import Call, ShapesPeer
from bench.shapes.problems import Array, BatchedProduct, Dense, ShapesProblem, Sizes


class Measured(ShapesPeer):
    """Transposed operands are views: OpenBLAS reads them as they are."""

    kinds = frozenset({Dense, BatchedProduct})

    def __init__(self, problem: ShapesProblem) -> None:
        self._problem = problem
        self._weights: dict[tuple[int, ...], Array] = {}

    def call(self, sizes: Sizes, operands: Sequence[Array]) -> Call:
        """See `ShapesPeer`."""
        lhs = operands[0]
        if isinstance(sizes, Dense):
            if sizes.weights not in self._weights:
                self._weights[sizes.weights] = self._problem.weights(sizes)
            rhs = self._weights[sizes.weights].T
        else:
            assert isinstance(sizes, BatchedProduct)
            rhs = operands[1].transpose(0, 2, 1) if sizes.transposed else operands[1]
        return lambda: np.matmul(lhs, rhs)
