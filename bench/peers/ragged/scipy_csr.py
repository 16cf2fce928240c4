"""SciPy's compressed rows: triangles as sparse matrices (CoRa, appendix D.4)."""

from __future__ import annotations

from typing import Any

from scipy.sparse import csr_array

from bench.operators.problems import Inputs, Operator, Problem, Triangle, Triangles
from bench.peers.ragged.peer import Prepared, RaggedPeer


class Measured(RaggedPeer):
    """The results of sums and products by element are compressed rows too; one thread."""

    operators = frozenset({Operator.TRMM, Operator.TRADD, Operator.TRMUL})

    def __init__(self, problem: Problem) -> None:
        self._operator = problem.operator

    def prepare(self, inputs: Inputs) -> Prepared[Any]:
        """See `RaggedPeer`."""
        match inputs:
            case Triangle(lower=lower, rhs=rhs):
                rows = csr_array(lower)
                return Prepared(lambda: rows @ rhs, lambda y: [y])
            case Triangles(left=left, right=right):
                one, other = csr_array(left), csr_array(right)
                add = self._operator is Operator.TRADD
                return Prepared(
                    (lambda: one + other) if add else (lambda: one.multiply(other)), lambda y: [y.toarray()]
                )
            case _:
                raise ValueError("only triangles are read here")
