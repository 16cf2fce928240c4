"""This project with stated tiles: each way to compute remaining rows (DietCode, figures 7, 10), and the best tile."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import ClassVar

import numpy as np

from bench.peers.shapes import compiled
from bench.peers.shapes.peer import Call
from bench.shapes.problems import Array, Dense, ShapesProblem, Sizes
from ragged import RaggedFunction, ScheduleOptions
from ragged.machine import Machine, this_machine
from ragged.tuning.space import default_space

SMALL_BYTES = 8192
_FEWER_ROWS = 3
"""Tiles of so many rows fewer than fit in registers are tried as well, for each number of vectors."""


class Exact(compiled.Measured):
    """Tiles of fewer rows for all numbers of rows that remain."""

    kinds = frozenset({Dense})
    remainder: ClassVar[str | None] = "exact"

    def __init__(self, problem: ShapesProblem) -> None:
        self.options = ScheduleOptions(tile=tile_of(this_machine()), remainder=self.remainder)
        super().__init__(problem)


class Balanced(Exact):
    """The last two tiles share the rows evenly."""

    remainder = "balanced"


class Overlapping(Exact):
    """The last tile is full, and computes rows of the one before again: in place of local padding."""

    remainder = "overlapping"


class Partitioned(Exact):
    """Remaining rows one by one, in a loop of their own: loop partitioning."""

    remainder = None


class Padded(Exact):
    """Global padding: operands are copied to a multiple of the tile's rows, and results are cut."""

    def compiled(self, shapes: Sequence[Sizes]) -> RaggedFunction:
        """See `compiled.Measured`."""
        return super().compiled([_padded(each) for each in shapes])

    def call(self, sizes: Sizes, operands: Sequence[Array]) -> Call:
        """See `ShapesPeer`."""
        assert isinstance(sizes, Dense)
        (x,), rows, function = operands, sizes.rows, self._bound(sizes)
        most = _padded(sizes).operands[0]

        def call() -> Array:
            padded = np.zeros(most, np.float32)
            padded[:rows] = x
            result: Array = function(X=padded)[:rows]
            return result

        return call


class Small(compiled.Measured):
    """A third of the bytes of code."""

    kinds = frozenset({Dense})
    code_bytes = SMALL_BYTES


class Best(compiled.Measured):
    """For each shape the tile that is fastest when it is tried: all that about fill the registers."""

    kinds = frozenset({Dense})

    def __init__(self, problem: ShapesProblem) -> None:
        self._problem = problem
        self._tried: list[RaggedFunction] = []
        self._fastest: dict[Sizes, RaggedFunction] = {}
        for tile in full_tiles(this_machine(), problem.shapes[0]):
            self.options = ScheduleOptions(tile=tile, remainder="balanced")
            self._tried.append(self.compiled(problem.shapes))

    def call(self, sizes: Sizes, operands: Sequence[Array]) -> Call:
        """See `ShapesPeer`."""
        if sizes not in self._fastest:
            (x,) = operands
            self._fastest[sizes] = min(self._tried, key=lambda function: _nanoseconds(function, x))
        function, given = self._fastest[sizes], operands[0]
        return lambda: function(X=given)

    def details(self) -> dict[str, object]:
        """See `ShapesPeer`."""
        return {"variants": len(self._tried)}


def tile_of(machine: Machine) -> tuple[int, int]:
    """Return three vectors of as many rows, a power of two, as leave room for the vectors and a broadcast."""
    rows = (machine.vector_registers - 4) // 3
    return 1 << (rows.bit_length() - 1), 3


def full_tiles(machine: Machine, sizes: Sizes) -> list[tuple[int, int]]:
    """Return tiles that about fill the registers, with panels that divide the columns."""
    assert isinstance(sizes, Dense)
    most: dict[int, list[int]] = {}
    for tile in default_space(machine)["tile"]:
        assert isinstance(tile, tuple)
        rows, vectors = tile
        if sizes.n % (vectors * machine.lanes(4)) == 0:
            most.setdefault(vectors, []).append(rows)
    return [
        (rows, vectors)
        for vectors, every in most.items()
        for rows in every
        if rows > max(every) - _FEWER_ROWS and vectors > 1
    ]


def _padded(sizes: Sizes) -> Dense:
    assert isinstance(sizes, Dense)
    rows, _ = tile_of(this_machine())
    return Dense(-(-sizes.rows // rows) * rows, sizes.k, sizes.n)


def _nanoseconds(function: RaggedFunction, x: Array) -> int:
    times = []
    for _ in range(4):
        begin = perf_counter_ns()
        function(X=x)
        times.append(perf_counter_ns() - begin)
    return min(times)
