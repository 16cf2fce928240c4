"""MKL from its own package: `cblas_sgemm`, and `cblas_sgemm_batch_strided` for batches of products."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from bench.peers.ragged.mkl import load_mkl
from bench.peers.shapes.peer import Call, ShapesPeer
from bench.shapes.problems import Array, BatchedProduct, Dense, ShapesProblem, Sizes

_ROWS, _PLAIN, _TRANSPOSED = 101, 111, 112
"""Of `CBLAS_LAYOUT` and `CBLAS_TRANSPOSE`."""
_ONE, _ZERO = ctypes.c_float(1.0), ctypes.c_float(0.0)


class Measured(ShapesPeer):
    """Nothing is packed beforehand: its packed interface wants the number of rows."""

    kinds = frozenset({Dense, BatchedProduct})

    def __init__(self, problem: ShapesProblem) -> None:
        self._library, self._problem = load_mkl(), problem
        self._library.MKL_Set_Num_Threads(problem.threads)
        self._weights: dict[tuple[int, ...], Array] = {}

    def call(self, sizes: Sizes, operands: Sequence[Array]) -> Call:
        """See `ShapesPeer`."""
        if isinstance(sizes, Dense):
            if sizes.weights not in self._weights:
                self._weights[sizes.weights] = self._problem.weights(sizes)
            rhs, batch, m, n, k, transposed = (
                self._weights[sizes.weights],
                0,
                sizes.rows,
                sizes.n,
                sizes.k,
                True,
            )
        else:
            assert isinstance(sizes, BatchedProduct)
            rhs, batch, m, n, k = operands[1], sizes.batch, sizes.m, sizes.n, sizes.k
            transposed = sizes.transposed
        return self._product(operands[0], rhs, batch, (m, n, k), transposed)

    def _product(
        self, lhs: Array, rhs: Array, batch: int, extents: tuple[int, int, int], transposed: bool
    ) -> Call:
        m, n, k = extents
        turned, columns = (_TRANSPOSED, k) if transposed else (_PLAIN, n)
        head = (_ROWS, _PLAIN, turned, m, n, k, _ONE)
        many, one = self._library.cblas_sgemm_batch_strided, self._library.cblas_sgemm

        def call() -> Array:
            result = np.empty((batch, m, n) if batch else (m, n), np.float32)
            a, b, y = (ctypes.c_void_p(each.ctypes.data) for each in (lhs, rhs, result))
            if batch:
                many(*head, a, k, m * k, b, columns, k * n, _ZERO, y, n, m * n, batch)
            else:
                one(*head, a, k, b, columns, _ZERO, y, n)
            return result

        return call
