"""NumPy on triangles as if they were whole matrices: what skipping the zeros has to beat; OpenBLAS multiplies."""

from __future__ import annotations

import numpy as np

from bench.operators.problems import Array, Inputs, Operator, Problem, Triangle, Triangles
from bench.peers.ragged.peer import Prepared, RaggedPeer


class Measured(RaggedPeer):
    """NumPy's product, sum and product by element."""

    operators = frozenset({Operator.TRMM, Operator.TRADD, Operator.TRMUL})

    def __init__(self, problem: Problem) -> None:
        """Threads are set by the environment."""
        self._operator = problem.operator

    def prepare(self, inputs: Inputs) -> Prepared[Array]:
        """See `RaggedPeer`."""
        match inputs:
            case Triangle(lower=lower, rhs=rhs):
                return Prepared(lambda: lower @ rhs, lambda y: [y])
            case Triangles(left=left, right=right):
                combine = np.add if self._operator is Operator.TRADD else np.multiply
                return Prepared(lambda: combine(left, right), lambda y: [y])
            case _:
                raise ValueError("only triangles are read here")
