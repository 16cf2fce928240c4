"""Sums of products of pairs on the processor's matrix unit, where it has one."""

from __future__ import annotations

from ragged.analysis.contractions import Contraction
from ragged.analysis.matrix_nests import LANES, TILES, matrix_nest
from ragged.errors import ScheduleError
from ragged.ir.dtype import DType
from ragged.ir.expr import Const, Load
from ragged.ir.program import Program
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import For, Label, LoopKind
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.tensorize import tensorize
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split

ROWS = LANES
"""Iterations of a batch that a matrix unit computes at once."""


def suits_matrix_unit(contraction: Contraction) -> bool:
    """Return whether a product, given rows, is one for a matrix unit: of pairs, columns and length by sixteens."""
    if contraction.packed is not None:
        buffer = contraction.packed[0]
    elif isinstance(contraction.vector_operand, Load) and contraction.rows is not None:
        buffer = contraction.vector_operand.buffer
    else:
        return False
    if buffer.dtype is not DType.BFLOAT16X2 or contraction.vector is None:
        return False
    extents = (contraction.vector.extent, contraction.axis.extent)
    return all(isinstance(each, Const) and each.value % LANES == 0 for each in extents)


def columns_for_matrix_unit(schedule: LoopSchedule, contraction: Contraction) -> int:
    """Split a product's columns as a matrix unit takes them; return how many it takes at once, 0 if it takes none.

    `tensorize_rows` comes next, when what is read side by side is packed by so many columns.
    """
    if not suits_matrix_unit(contraction):
        return 0
    before = schedule.checkpoint()
    columns = contraction.vector
    assert columns is not None and isinstance(columns.extent, Const)
    tiles = int(columns.extent.value) // LANES
    width = LANES * next(count for count in range(TILES, 0, -1) if tiles % count == 0)
    try:
        others = tuple(loop.var for loop in contraction.outputs if loop is not columns)
        inner = columns.var
        if width < columns.extent.value:
            outer, inner = schedule.apply(split, columns.var, width, Tail.PEEL).loops[columns.var]
            others = (*others, outer)
        schedule.apply(reorder, (*others, inner))
        rows = _rows(schedule.program, contraction.update)
        if rows is not None and not isinstance(matrix_nest(rows, packed=False), str):
            return width
    except ScheduleError:
        pass
    schedule.restore(before)
    return 0


def tensorize_rows(schedule: LoopSchedule, update: Label) -> None:
    """Let the matrix unit run the nest of a product; `ScheduleError` where its columns could not be packed."""
    rows = _rows(schedule.program, update)
    assert rows is not None, "columns_for_matrix_unit found them"
    schedule.apply(tensorize, rows.var)


def _rows(program: Program, update: Label) -> For | None:
    """Return the outermost loop around a product that is a nest for a matrix unit with all that is in it."""
    site = next(site for site in sites(program) if getattr(site.stmt, "label", None) is update)
    found = [loop for loop in _serial(site) if not isinstance(matrix_nest(loop, packed=False), str)]
    return found[0] if found else None


def _serial(site: Site) -> list[For]:
    return [loop for loop in site.loops[:-1] if loop.kind is LoopKind.SERIAL]
