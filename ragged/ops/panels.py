"""Columns of a matrix by panels: as many vectors of them as a register tile has."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.api.schedule import LoopLike, RaggedSchedule
from ragged.api.tensors import Loop
from ragged.api.values import Value
from ragged.transform.code.simplify_guards import simplify_guards
from ragged.transform.loops.partition_loop import partition_loop
from ragged.transform.loops.version_loop import version_loop

WIDTH = 64
"""Columns of a panel."""


def panels_of(columns: Value) -> Value:
    """Return how many panels hold so many columns."""
    return (columns + (WIDTH - 1)) // WIDTH


def cut_panels(s: RaggedSchedule, panels: Loop, columns: str) -> None:
    """Give the whole panels a loop of their own, in which nothing asks where the columns end (operation splitting)."""
    loop = s.loop(panels)
    s.apply(partition_loop, loop, s.loops.index(f"{columns} // {WIDTH}", loop))
    s.apply(simplify_guards)


def version_panels(s: RaggedSchedule, loops: Sequence[LoopLike], panel: str, columns: str) -> None:
    """Give whole panels copies of loops inside of a panel, in which nothing asks where the columns end.

    `panel` is the number of the panel that the loops are in, of so many `columns`.
    """
    for loop in loops:
        own = s.loop(loop)
        end = s.loops.index(f"{panel} * {WIDTH} + {WIDTH}", own)
        s.apply(version_loop, own, end, s.loops.index(columns, own))
    s.apply(simplify_guards)
