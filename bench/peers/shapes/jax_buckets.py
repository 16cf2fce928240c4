"""JAX: jitted functions of arrays that are padded to the next power of two, so that few shapes are compiled for.

The padding and the slice of the result are part of a call. Without it each new shape would compile for 0.2 seconds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from bench.peers.shapes.peer import Call, ShapesPeer
from bench.shapes.problems import Array, BatchedProduct, Dense, ShapesProblem, Sizes

_LEAST = 16


class Measured(ShapesPeer):
    """It takes as many threads as its process has processors, so the process is bound to so many."""

    kinds = frozenset({Dense, BatchedProduct})

    def __init__(self, problem: ShapesProblem) -> None:
        usable = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, usable[: problem.threads])
        self._problem = problem
        self._weights: dict[tuple[int, ...], Any] = {}
        self._linear = jax.jit(lambda x, w: x @ w.T)
        self._nt = jax.jit(lambda a, b: jnp.einsum("bmk,bnk->bmn", a, b))
        self._nn = jax.jit(lambda a, b: jnp.einsum("bmk,bkn->bmn", a, b))

    def call(self, sizes: Sizes, operands: Sequence[Array]) -> Call:
        """See `ShapesPeer`."""
        if isinstance(sizes, Dense):
            if sizes.weights not in self._weights:
                self._weights[sizes.weights] = jnp.asarray(self._problem.weights(sizes))
            weights, rows = self._weights[sizes.weights], sizes.rows
            (x,), padded = operands, (_bucket(sizes.rows), sizes.k)
            return lambda: np.asarray(self._linear(_padded(x, padded), weights))[:rows]
        assert isinstance(sizes, BatchedProduct)
        lhs, rhs = operands
        (b, m, k), (_, r, c) = lhs.shape, rhs.shape
        large = {size: _bucket(size) for size in (m, k, r, c)}
        run = self._nt if sizes.transposed else self._nn
        one, other = (b, large[m], large[k]), (b, large[r], large[c])
        return lambda: np.asarray(run(_padded(lhs, one), _padded(rhs, other)))[:, :m, : sizes.n]


def _bucket(size: int) -> int:
    return max(_LEAST, 1 << (size - 1).bit_length())


def _padded(array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape == shape:
        return array
    padded = np.zeros(shape, np.float32)
    padded[tuple(map(slice, array.shape))] = array
    return padded
