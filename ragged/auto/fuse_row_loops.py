"""Fuse the row loops of a contraction of two matrices and of the elementwise nests that consume it."""

from __future__ import annotations

from itertools import pairwise

from ragged.analysis.contractions import Contraction, contractions
from ragged.analysis.loop_bodies import loop_of, parts_of
from ragged.auto.options import ScheduleOptions
from ragged.auto.tensorize_products import suits_matrix_unit
from ragged.auto.tile_products import partition_rows
from ragged.auto.tile_sizes import rows_of_tile
from ragged.ir.expr import Const, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import sites
from ragged.ir.stmt import Block, For, Stmt, Store
from ragged.ir.walk import leaves
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.reorder_stmts import reorder_stmts
from ragged.transform.loops.fuse_siblings import fuse_siblings
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split


def fuse_row_loops(schedule: LoopSchedule, machine: Machine, options: ScheduleOptions) -> None:
    """Consume a tile's rows of a contraction of two matrices right after they are computed, from the L1 cache.

    This is for a contraction with a loop over rows, and the nests directly after it that store as many rows element by
    element. The order of each sum stays; nests that a primitive refuses stay as they are.
    """
    for run in _runs(schedule.program):
        with schedule.attempt():
            _fuse(schedule, run, machine, options)


def _fuse(schedule: LoopSchedule, run: list[For], machine: Machine, options: ScheduleOptions) -> None:
    own = _own_rows(schedule.program)
    here = [own[leaf.label] for nest in run for leaf in leaves(nest) if leaf.label in own]
    if options.on_unit(machine) and any(map(suits_matrix_unit, here)):
        return
    together = min(rows_of_tile(contraction, machine, options) for contraction in here)
    nests = [_rows(nest, own) for nest in run]
    for nest, rows in zip(run, nests, strict=True):
        if rows is not nest.var:
            schedule.apply(reorder, (rows, nest.var))
    parts = [
        partition_rows(schedule, rows, together) for rows in nests
    ]  # of as many rows each: all are cut, or none
    if None not in parts:
        for before, rows in pairwise(nests):  # what is left over comes after the rows of all nests
            schedule.apply(reorder_stmts, rows, before)
    blocks = [schedule.apply(split, rows, together, Tail.PEEL).loops[rows][0] for rows in nests]
    for following in blocks[1:]:
        schedule.apply(fuse_siblings, blocks[0], following)


def _runs(program: Program) -> list[list[For]]:
    """Return nests that follow each other: products with rows of their own, then stores of as many rows of these."""
    own = _own_rows(program)
    found: list[list[For]] = []
    for site in sites(program):
        if site.stage.kind is not StageKind.KERNEL or not isinstance(site.stmt, For):
            continue
        run: list[For] = []
        for part in [*parts_of(site.stmt), None]:
            if isinstance(part, For) and run and _goes_on(program, run[0], part, own):
                run.append(part)
                continue
            if len(run) > 1:
                found.append(run)
            run = [part] if isinstance(part, For) and _contraction(part, own) is not None else []
    return found


def _goes_on(program: Program, first: For, part: For, own: dict[object, Contraction]) -> bool:
    """Return whether a nest stores as many rows as the product before it has."""
    if not isinstance(_leaf(part), Store):
        return False
    extents = [loop_of(program, _rows(nest, own)).extent for nest in (first, part)]
    return isinstance(extents[0], Const) and extents[0] == extents[1]


def _own_rows(program: Program) -> dict[object, Contraction]:
    """Return the products with a matrix of parameters that have rows of their own, by their updates."""
    return {p.update: p for p in contractions(program) if p.packed is not None and p.rows is not None}


def _contraction(nest: For, own: dict[object, Contraction]) -> Contraction | None:
    return next((own[leaf.label] for leaf in leaves(nest) if leaf.label in own), None)


def _rows(nest: For, own: dict[object, Contraction]) -> Var:
    """Return the loop over rows of a nest: a product's, or the outermost one."""
    contraction = _contraction(nest, own)
    return nest.var if contraction is None or contraction.rows is None else contraction.rows.var


def _leaf(nest: Stmt) -> Stmt:
    """Return the one statement in loops that stand directly in each other, or what ends them."""
    while isinstance(nest, For):
        nest = nest.body
    return nest.body[-1] if isinstance(nest, Block) else nest
