"""This project with all sizes known when it compiles: a function per shape, which one for all is compared with."""

from __future__ import annotations

import ragged
from bench.peers.shapes import compiled
from bench.shapes.problems import BatchedProduct, Dense, Sizes
from ragged import RaggedFunction


class Measured(compiled.Measured):
    """Functions are compiled in the first call with a shape, and kept."""

    kinds = frozenset({Dense, BatchedProduct})

    def _function(self, sizes: Sizes) -> RaggedFunction:
        key = (sizes.flops, *(extent for operand in sizes.operands for extent in operand))
        if key not in self._functions:
            params = {} if isinstance(sizes, BatchedProduct) else {"W": self._problem.weights(sizes)}
            threads = self._problem.threads
            self._functions[key] = ragged.compile(compiled.program([sizes]), params, threads=threads)
        return self._functions[key]
