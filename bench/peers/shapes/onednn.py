"""oneDNN through its C interface, as its documentation advises: weights in the form that a primitive asks for.

A primitive is made for each shape, in the first call with it, and kept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from bench.peers.native.build import library
from bench.peers.shapes.peer import Call, ShapesPeer
from bench.shapes.problems import Array, BatchedProduct, Convolution, Dense, ShapesProblem, Sizes

_LIBRARY = library()
_P, _N = ctypes.c_void_p, ctypes.c_int64
_LIBRARY.shapes_run.argtypes = (_P, _P, _P, _P, _P)
for _name in ("shapes_dense", "shapes_batched", "shapes_convolution"):
    getattr(_LIBRARY, _name).restype = _P


class Measured(ShapesPeer):
    """Operators of native/shapes.cpp, one for each matrix of weights; arrays that they read are kept alive here."""

    kinds = frozenset({Dense, BatchedProduct, Convolution})
    run_time: ClassVar[bool] = False
    """Whether one primitive with run-time rows serves all shapes."""

    def __init__(self, problem: ShapesProblem) -> None:
        self._problem = problem
        self._made: dict[object, int] = {}
        self._weights: list[Array] = []

    def __del__(self) -> None:
        for made in self._made.values():
            _LIBRARY.shapes_destroy(_P(made))

    def call(self, sizes: Sizes, operands: Sequence[Array]) -> Call:
        """See `ShapesPeer`."""
        match sizes:
            case Dense(rows=rows, k=k, n=n):
                dims = (_N(k), _N(n))
                made = self._with_weights(
                    sizes, lambda w: _LIBRARY.shapes_dense(*dims, w, int(self.run_time))
                )
                return _call(made, [rows], operands, (rows, n))
            case Convolution(batch=batch, side=side, channels=channels, filters=filters, kernel=kernel):
                form = (_N(side), _N(side), _N(channels), _N(filters), _N(kernel))
                made = self._with_weights(sizes, lambda w: _LIBRARY.shapes_convolution(*form, w))
                return _call(made, [batch], operands, (batch, side, side, filters))
            case BatchedProduct(batch=batch, m=m, k=k, n=n, transposed=transposed):
                if transposed not in self._made:
                    self._made[transposed] = _LIBRARY.shapes_batched(int(transposed))
                return _call(self._made[transposed], [batch, m, k, n], operands, (batch, m, n))

    def _with_weights(self, sizes: Dense | Convolution, make: Callable[[ctypes.c_void_p], int]) -> int:
        """Return the operator with the weights of a shape, for images of its side."""
        key = (*sizes.weights, getattr(sizes, "side", 0))
        if key not in self._made:
            weights = self._problem.weights(sizes)
            self._weights.append(weights)
            self._made[key] = make(_P(weights.ctypes.data))
        return self._made[key]


def _call(made: int, extents: Sequence[int], operands: Sequence[Array], shape: tuple[int, ...]) -> Call:
    run, sizes = _LIBRARY.shapes_run, (_N * len(extents))(*extents)
    lhs, rhs = operands[0].ctypes.data, operands[-1].ctypes.data

    def call(held: Sequence[Array] = operands) -> Array:  # an address keeps no array alive
        result = np.empty(shape, np.float32)
        run(made, sizes, lhs, rhs, result.ctypes.data)
        return result

    return call
