"""A peer that adds 1 to the last number of its first result."""

from bench.peers.tc import openblas


class Measured(openblas.Measured):
    def arrays(self, result):
        first, *others = super().arrays(result)
        first.reshape(-1)[-1] += 1
        return [first, *others]
