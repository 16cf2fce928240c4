"""A peer that does not take large triangles."""

from bench.operators.problems import Operator
from bench.peers.ragged import openblas_dense


class Measured(openblas_dense.Measured):
    operators = frozenset({Operator.TRMM})

    def prepare(self, inputs):
        if len(inputs.rhs) > 40:
            raise NotImplementedError("at most 40")
        return super().prepare(inputs)
