"""OpenBLAS, as NumPy and SciPy call it: a product after the other, and its product with a triangle.

Where the environment makes OpenBLAS choose slower code, `bench.process` has unset that before this starts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.blas import strmm

from bench.operators.problems import Array, Inputs, Operator, Problem, Products, Triangle
from bench.peers.ragged.peer import Prepared, RaggedPeer


class Measured(RaggedPeer):
    """NumPy multiplies, SciPy's `strmm` writes over the matrix that it multiplies, which is put back untimed."""

    operators = frozenset({Operator.VGEMM, Operator.TRMM})

    def __init__(self, problem: Problem) -> None:
        """Nothing is left to be made: threads are set by the environment."""

    def prepare(self, inputs: Inputs) -> Prepared[list[Array]]:
        """See `RaggedPeer`."""
        match inputs:
            case Products(lhs=lhs, rhs=rhs):
                pairs = list(zip(lhs, rhs, strict=True))
                return Prepared(lambda: [a @ b for a, b in pairs], lambda y: y)
            case Triangle(lower=lower, rhs=rhs):
                return _triangle(lower, rhs)
            case _:
                raise ValueError("only products are multiplied here")


def _triangle(lower: Array, rhs: Array) -> Prepared[list[Array]]:
    # In the order of Fortran, which SciPy passes on as it is.
    a: Any = np.asfortranarray(lower)
    b: Any = np.asfortranarray(rhs)

    def before() -> None:
        b[...] = rhs

    def run() -> list[Array]:
        return [strmm(1.0, a, b, lower=1, overwrite_b=1)]

    return Prepared(run, lambda y: y, before)
