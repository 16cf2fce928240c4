"""A peer that is right, until it is to be timed: its process ends then, as one that is out of memory does."""

import os

from bench.peers.ragged import openblas_dense
from bench.peers.ragged.peer import Prepared


class Measured(openblas_dense.Measured):
    def prepare(self, inputs):
        prepared, runs = super().prepare(inputs), []

        def run():
            runs.append(1)
            return prepared.run() if len(runs) == 1 else os._exit(9)

        return Prepared(run, prepared.read)
