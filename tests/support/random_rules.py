"""Rules of the default schedules in place of single steps, with random options, and whole default schedules.

A rule proposes steps by an analysis of its own, as polyhedral dependences or a cost, and primitives prove them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.fuse_child_loops import fuse_child_loops
from ragged.auto.fuse_nests import fuse_nests
from ragged.auto.grid_schedule import GridSchedule
from ragged.auto.options import CATEGORIES, REMAINDERS, ScheduleOptions
from ragged.auto.tile_panels import tile_panels
from ragged.ir.program import Program
from ragged.machine import Grid, Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.schedule.result import ScheduleResult

MACHINES = (
    Machine(16, 16, 2, 32 * 1024, 512 * 1024),
    Machine(32, 16, 2, 32 * 1024, 1024 * 1024),
    Machine(64, 32, 2, 32 * 1024, 1024 * 1024, matrix_unit=True),
)
"""Processors with vectors of four, eight and sixteen elements."""


def _machine(draw: Random) -> Machine:
    return draw.choice(MACHINES)


def options(draw: Random) -> ScheduleOptions:
    """Draw options of the default schedule: mostly few that are not the default."""

    def some(default: object, *others: object) -> object:
        return draw.choice(others) if draw.random() < 0.2 else default

    return replace(
        ScheduleOptions(),
        tile=some(None, (1, 1), (2, 2), (4, 1)),
        min_rows_per_worker=some(None, 1, 2),
        gather_block_rows=some(24, 1, 3),
        scalar_reduction_unroll=some(8, 1, 2),
        reduction_unroll=some(None, 1, 3),
        rows_per_tile=some(None, 1, 3),
        remainder=some(None, *REMAINDERS),
        categories=some("ranges", *CATEGORIES),
        **{
            name: some(True, False)
            for name in (
                "share_columns",
                "replicate_rows",
                "rolling_buffers",
                "fuse_nests",
                "per_node_matrices",
                "tensorize",
                "reroll",
            )
        },
    )


RULES: dict[str, Callable[[LoopSchedule, Random], object]] = {
    "fuse_nests": lambda s, draw: fuse_nests(s, draw.choice([1, 2, 3])),
    "fuse_child_loops": lambda s, draw: fuse_child_loops(s),
    "tile_panels": lambda s, draw: tile_panels(
        s, _machine(draw), draw.choice([None, (2, 1), (3, 2)]), draw.choice([1, 2])
    ),
}
"""Rules that need nothing of the rules before them; the others are drawn as parts of whole schedules."""


def _default_schedule(draw: Random, program: Program) -> ScheduleResult:
    return DefaultSchedule(_machine(draw), draw.choice([1, 2, 3]), options(draw))(program)


def _grid_schedule(draw: Random, program: Program) -> ScheduleResult:
    grid = Grid(draw.choice([1, 2, 3, 5]), draw.choice([1, 2, 4]), draw.choice([40, 400, 4096]))
    return GridSchedule(grid, _machine(draw))(program)


WHOLE: dict[str, Callable[[Random, Program], ScheduleResult]] = {
    "default_schedule": _default_schedule,
    "grid_schedule": _grid_schedule,
}
"""Schedules of whole programs, for processors and for grids."""
