"""MKL itself, from its own package: its batched product for matrices of many sizes, and its product with a triangle.

Called through its C interface, `cblas_sgemm_batch` and `cblas_strmm`; row by row, so nothing is transposed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from pathlib import Path

import numpy as np

from bench.operators.problems import Array, Inputs, Operator, Problem, Products, Triangle
from bench.peers.ragged.peer import Prepared, RaggedPeer

_ROWS, _PLAIN, _LEFT, _LOWER, _NO_UNIT = 101, 111, 141, 122, 131
"""Of `CBLAS_LAYOUT`, `CBLAS_TRANSPOSE`, `CBLAS_SIDE`, `CBLAS_UPLO` and `CBLAS_DIAG`."""


class Measured(RaggedPeer):
    """Results are written where there is room for them since before the first run."""

    operators = frozenset({Operator.VGEMM, Operator.TRMM})

    def __init__(self, problem: Problem) -> None:
        self._library = load_mkl()
        self._library.MKL_Set_Num_Threads(problem.threads)

    def prepare(self, inputs: Inputs) -> Prepared[list[Array]]:
        """See `RaggedPeer`."""
        match inputs:
            case Products(lhs=lhs, rhs=rhs):
                results = [np.empty((len(a), b.shape[1]), np.float32) for a, b in zip(lhs, rhs, strict=True)]
                call = self._batched(lhs, rhs, results)
                return Prepared(call, lambda _: results)
            case Triangle(lower=lower, rhs=rhs):
                return self._triangle(lower, rhs)
            case _:
                raise ValueError("only products are multiplied here")

    def _batched(
        self, lhs: Sequence[Array], rhs: Sequence[Array], results: Sequence[Array]
    ) -> Callable[[], list[Array]]:
        """Return the call: each product is a group of its own, since a group's matrices have one size."""
        count = len(lhs)
        m, k, n = _ints(map(len, lhs)), _ints(map(len, rhs)), _ints(b.shape[1] for b in rhs)
        plain, each = _ints([_PLAIN] * count), _ints([1] * count)
        one, zero = (ctypes.c_float * count)(*[1.0] * count), (ctypes.c_float * count)()
        a, b, c = (_addresses(side) for side in (lhs, rhs, results))
        call = self._library.cblas_sgemm_batch
        held = [list(results), list(lhs), list(rhs)]  # addresses keep nothing alive

        def run() -> list[Array]:
            call(_ROWS, plain, plain, m, n, k, one, a, k, b, n, zero, c, n, count, each)
            return held[0]

        return run

    def _triangle(self, lower: Array, rhs: Array) -> Prepared[list[Array]]:
        room = rhs.copy()
        (n, m), call = rhs.shape, self._library.cblas_strmm
        a, b = (array.ctypes.data_as(ctypes.c_void_p) for array in (lower, room))

        def before() -> None:
            room[...] = rhs

        def run() -> list[Array]:
            call(_ROWS, _LEFT, _LOWER, _PLAIN, _NO_UNIT, n, m, ctypes.c_float(1.0), a, n, b, m)
            return [room]

        return Prepared(run, lambda y: y, before)


def load_mkl() -> ctypes.CDLL:
    """Load the library of the package `mkl`, which has no module of its own to import."""
    for file in metadata.files("mkl") or ():
        if file.name.startswith("libmkl_rt.so"):
            return ctypes.CDLL(str(Path(str(file.locate())).resolve()))
    raise ImportError("the package mkl has no libmkl_rt.so")


def _ints(numbers: Iterable[int]) -> ctypes.Array[ctypes.c_int]:
    found = list(numbers)
    return (ctypes.c_int * len(found))(*found)


def _addresses(arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])
