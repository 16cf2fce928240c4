"""Columns of a matrix by panels, of so many columns as `Options.panel` says."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.api.schedule import LoopLike, RaggedSchedule
from ragged.api.tensors import Loop
from ragged.api.values import Value
from ragged.transform.code.simplify_guards import simplify_guards
from ragged.transform.loops.partition_loop import partition_loop
from ragged.transform.loops.version_loop import version_loop


def panels_of(columns: Value, width: int) -> Value:
    """Return how many panels of a `width` hold so many columns."""
    return (columns + (width - 1)) // width


def cut_panels(s: RaggedSchedule, panels: Loop, columns: str, width: int) -> None:
    """Give the whole panels a loop of their own, in which nothing asks where the columns end (operation splitting)."""
    loop = s.loop(panels)
    s.apply(partition_loop, loop, s.loops.index(f"{columns} // {width}", loop))
    s.apply(simplify_guards)


def version_panels(
    s: RaggedSchedule, loops: Sequence[LoopLike], panel: str, columns: str, width: int
) -> None:
    """Give whole panels copies of loops inside of a panel, in which nothing asks where the columns end.

    `panel` is the number of the panel that the loops are in, of so many `columns`.
    """
    for loop in loops:
        own = s.loop(loop)
        end = s.loops.index(f"{panel} * {width} + {width}", own)
        s.apply(version_loop, own, end, s.loops.index(columns, own))
    s.apply(simplify_guards)
