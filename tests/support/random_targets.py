"""Arguments of primitives for one kind of target: grids of GPUs, and pairs of bfloat16 for matrix units.

What draws them mostly applies first what these primitives need.
"""

from __future__ import annotations

from ragged.analysis.parallel_regions import outermost_parallel
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Load, Role, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import StageKind
from ragged.ir.sites import Site
from ragged.ir.stmt import For, Label, LoopKind, Reduce
from ragged.transform.code.pair_products import pair_products
from ragged.transform.loops.fission import fission
from ragged.transform.loops.slice_columns import slice_columns
from ragged.transform.mapping.distribute_over_blocks import distribute_over_blocks
from ragged.transform.mapping.serial import serial
from ragged.transform.storage.pack import pack
from tests.support.random_places import Places, parts_of
from tests.support.random_prepared import Asked, Attempt, columns_of


def blocks(d: Places, attempt: Attempt) -> Asked:
    return Asked((d.pick([2, 3, 1, 0]),))


def threads(d: Places, attempt: Attempt) -> Asked:
    """Draw a number of threads, mostly after giving blocks their shares."""
    if not _has_team(d) and d.chance(8):
        attempt(distribute_over_blocks, d.pick([2, 3]))
    return Asked((d.pick([2, 3, 1, 4, 0]),))


def on_chip(d: Places, attempt: Attempt) -> Asked:
    """Draw a parameter, mostly after giving blocks columns of what runs at once."""
    if not _has_team(d) and d.chance(9):
        stage = d.program.stage(StageKind.KERNEL)
        assert stage is not None
        for region in outermost_parallel(Site(stage, stage.body)):
            columns = [columns_of(part) for part in parts_of(region.loop)]
            attempt(slice_columns, region.loop.var, tuple(var for each in columns for var in each), 1)
        attempt(distribute_over_blocks, d.pick([2, 3, 4]))
    return Asked((Places(d.draw, attempt.program).buffer(Role.PARAMETER, Role.BOUND),))


def _has_team(d: Places) -> bool:
    return any(loop.kind is LoopKind.TEAM for loop in d.loops)


def paired(d: Places, attempt: Attempt) -> Asked:
    """Draw sums of products with a parameter: all, or some; now and then any statement; and how many fill a tile."""
    legal = [label for label in _sums(d) if _may_be_paired(d, label)]
    if not legal or d.chance(1):
        return Asked(((d.label(),),))
    return Asked((tuple(legal) if d.chance(5) else (d.pick(legal),), d.pick((1, 1, 2, 3))))


def _sums(d: Places) -> list[Label]:
    return [site.stmt.label for site in d.sites if isinstance(site.stmt, Reduce)]


def _may_be_paired(d: Places, label: Label) -> bool:
    try:
        pair_products(d.program, (label,))
    except ScheduleError:
        return False
    return True


def tensorized(d: Places, attempt: Attempt) -> Asked:
    """Draw a loop over rows, mostly after rounding a sum in it, leaving it alone there, and packing its parameter."""
    found = d.pick([*_pairs(d), None]) if d.chance(9) else None
    if found is None and d.chance(9):
        attempt(pair_products, *paired(d, attempt).args)
        found = next(iter(_pairs(Places(d.draw, attempt.program))), None)
    if found is None or len(found.loops) < 3:
        return Asked((d.loop(),))
    rows, columns = found.loops[-3], found.loops[-2]
    if rows.kind is LoopKind.PARALLEL:
        attempt(serial, rows.var)
    parts = [_name(part) for part in parts_of(rows)]
    place = parts.index(columns.var) if columns.var in parts else 0
    loop = rows.var
    for last in (parts[place], *parts[max(0, place - 1) : place]):
        if len(parts) > 1 and last is not None:
            cut = attempt(fission, loop, last)
            loop = loop if cut is None else cut.loops[loop][0 if last is parts[place] else -1]
    assert isinstance(found.stmt, Reduce) and isinstance(found.stmt.value, Binary)
    for load in (found.stmt.value.lhs, found.stmt.value.rhs):
        if isinstance(load, Load) and load.buffer.role is Role.BOUND:
            attempt(pack, load.buffer, attempt.program.free_name("packed"), (), (1, 0))
    return Asked((loop,))


def _pairs(d: Places) -> list[Site]:
    """Return the sums of pairs."""
    return [
        site
        for site in d.sites
        if isinstance(site.stmt, Reduce)
        and isinstance(site.stmt.value, Binary)
        and site.stmt.value.op is BinaryOp.DOT
    ]


def _name(part: object) -> Var | Label | None:
    return part.var if isinstance(part, For) else getattr(part, "label", None)
