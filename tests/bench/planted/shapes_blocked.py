"""A peer that is right, and sums from the other end where there are few rows: bits depend on how many come."""

import numpy as np

from bench.peers.shapes import openblas


class Measured(openblas.Measured):
    def call(self, sizes, operands):
        if sizes.rows > 16:
            return super().call(sizes, operands)
        weights, x = self._problem.weights(sizes)[:, ::-1].astype(np.float64), operands[0][:, ::-1]
        return lambda: (x @ weights.T).astype(np.float32)
