"""A peer of the shapes benchmark, in a process of its own."""

from __future__ import annotations

from types import MappingProxyType
from typing import TypeVar

from bench.peers.shapes import find
from bench.process import ServedProcess
from bench.shapes.messages import (
    AskDetails,
    Check,
    CompareRows,
    Details,
    Grow,
    MakeProblem,
    RowBits,
    ShapesMade,
    ShapesRequest,
    TimeFresh,
    TimeShape,
)
from bench.shapes.problems import ShapesProblem

Reply = TypeVar("Reply")


class ShapesProcess(ServedProcess):
    """As `bench.process.ServedProcess`; what each method asks is said in `bench.shapes.messages`."""

    # As for ragged operators: results come from memory that the process has, and MKL's threads sleep soon.
    environment = MappingProxyType({"MALLOC_MMAP_MAX_": "0", "KMP_BLOCKTIME": "20"})

    def __init__(self, name: str, threads: int) -> None:
        super().__init__(name, "bench.shapes.serve", find(name).module, threads)

    def make(self, problem: ShapesProblem) -> float | None:
        """Make what a problem needs; return the seconds, or None if the peer has no such kind."""
        made = self.ask(MakeProblem(problem))
        assert made is None or isinstance(made, ShapesMade)
        return None if made is None else made.seconds

    def error(self, shape: int) -> float:
        """Compute a shape, and return its error."""
        return self._ask(Check(shape), float)

    def time(self, shape: int, seconds: float, least: int, most: int) -> list[int]:
        """Time a shape."""
        return self._ask(TimeShape(shape, seconds, least, most), list)

    def fresh(self, shapes: range, repeats: int) -> list[list[int]]:
        """Time first calls, and later ones."""
        return self._ask(TimeFresh(shapes, repeats), list)

    def compare_rows(self) -> RowBits:
        """Compare the bits of rows over all shapes."""
        return self._ask(CompareRows(), RowBits)

    def growth(self, shapes: range) -> int:
        """Return by how many bytes the process grows over shapes."""
        return self._ask(Grow(shapes), int)

    def details(self) -> Details:
        """Return what else is known."""
        return self._ask(AskDetails(), dict)

    def _ask(self, request: ShapesRequest, kind: type[Reply]) -> Reply:
        reply = self.ask(request)
        assert isinstance(reply, kind)
        return reply
