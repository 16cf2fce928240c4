"""This project with all sizes known when it compiles: a function per shape, which one for all is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.peers.shapes import compiled
from bench.peers.shapes.peer import Call
from bench.shapes.problems import Array, ShapesProblem, Sizes
from ragged import RaggedFunction


class Measured(compiled.Measured):
    """Functions are compiled for a shape when it comes first, and kept."""

    def __init__(self, problem: ShapesProblem) -> None:
        self._problem = problem
        self._weights: dict[tuple[int, ...], Array] = {}
        self._functions: dict[Sizes, RaggedFunction] = {}

    def call(self, sizes: Sizes, operands: Sequence[Array]) -> Call:
        """See `ShapesPeer`."""
        if sizes not in self._functions:
            self._functions[sizes] = self.compiled([sizes])
        self._function = self._functions[sizes]
        return super().call(sizes, operands)

    def details(self) -> dict[str, Any]:
        """See `ShapesPeer`."""
        return {}
