"""OpenBLAS on a triangle as if it were a whole matrix: what skipping the zeros has to beat."""

from __future__ import annotations

from bench.operators.problems import Array, Inputs, Operator, Problem, Triangle
from bench.peers.ragged.peer import Prepared, RaggedPeer


class Measured(RaggedPeer):
    """NumPy's product."""

    operators = frozenset({Operator.TRMM})

    def __init__(self, problem: Problem) -> None:
        """Nothing is left to be made: threads are set by the environment."""

    def prepare(self, inputs: Inputs) -> Prepared[Array]:
        """See `RaggedPeer`."""
        assert isinstance(inputs, Triangle)
        lower, rhs = inputs.lower, inputs.rhs
        return Prepared(lambda: lower @ rhs, lambda y: [y])
