"""This project with all sizes known when it compiles: a function per shape, which one for all is compared with."""

from __future__ import annotations

from typing import Any

from bench.peers.shapes import compiled
from bench.shapes.problems import ShapesProblem, Sizes
from ragged import RaggedFunction


class Measured(compiled.Measured):
    """Functions are compiled for a shape when it comes first, and kept."""

    def __init__(self, problem: ShapesProblem) -> None:
        self._problem = problem
        self._of_shapes: dict[Sizes, RaggedFunction] = {}

    def _bound(self, sizes: Sizes) -> RaggedFunction:
        if sizes not in self._of_shapes:
            self._of_shapes[sizes] = self.compiled([sizes])
        return self._of_shapes[sizes]

    def details(self) -> dict[str, Any]:
        """See `ShapesPeer`."""
        return {}
