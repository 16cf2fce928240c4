"""Copies of what a product in panels reads: its operand's columns panel by panel, and images with their borders."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.analysis.dense_products import DenseProduct
from ragged.ir.expr import Ref, Var
from ragged.ir.program import StageKind
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import Label, Store
from ragged.ir.walk import mentions
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.reorder import reorder
from ragged.transform.storage.cache_padded import cache_padded
from ragged.transform.storage.pack import pack
from ragged.transform.storage.set_order import set_order


def pack_panels(
    schedule: LoopSchedule, product: DenseProduct, lanes: int, vectors: int, only: Label | None = None
) -> tuple[Var, ...]:
    """Pack the operand with the columns by panels; return the loops that fill an input's table, outermost first.

    With `only` that statement alone reads the table.
    """
    buffer = product.operand.buffer
    name = schedule.program.free_name(f"{buffer.name}_packed")
    schedule.apply(
        pack, buffer, name, ((product.dimension, lanes * vectors),), product.panel_order, only=only
    )
    filled = _filling(schedule, name)
    if filled.stage.kind is StageKind.BIND:
        return ()
    return tuple(loop.var for loop in filled.loops)


def copy_panels(schedule: LoopSchedule, product: DenseProduct, panel: Var) -> None:
    """Copy the columns of each panel that a product reads, so that they are contiguous.

    Loops follow the copy's layout, so that `transpose_rows` finds them.
    """
    schedule.apply(cache_padded, product.update, panel, product.operand.buffer)
    table, axes = schedule.program.buffers[-1], [axis.var for axis in product.axes]
    along = [
        d for d, each in enumerate(product.operand.indices) if d == product.dimension or mentions(each, axes)
    ]
    places = list(range(len(table.shape)))
    places.append(places.pop(along.index(product.dimension) - len(along)))
    lay_out_copy(schedule, places, len(along))


def lay_out_copy(schedule: LoopSchedule, order: Sequence[int], count: int) -> tuple[Var, ...]:
    """Store the copy that was made last in an order of its dimensions, the last `count` of which loops of its own fill.

    These loops are put in that order and returned.
    """
    table = schedule.program.buffers[-1]
    store = _filling(schedule, table.name).stmt
    assert isinstance(store, Store), "it fills the copy"
    loops = tuple(index.var for d in order[-count:] if isinstance(index := store.indices[d], Ref))
    if tuple(order) != table.order:
        schedule.apply(set_order, table, order)
        schedule.apply(reorder, loops)
    return loops


def copy_border(schedule: LoopSchedule, product: DenseProduct, loop: Var) -> None:
    """Pad what a product reads under a condition, once in each iteration of a loop."""
    with schedule.attempt():
        schedule.apply(cache_padded, product.update, loop)


def _filling(schedule: LoopSchedule, name: str) -> Site:
    """Return the store to a buffer that nothing else stores to."""
    return next(
        site
        for site in sites(schedule.program)
        if isinstance(site.stmt, Store) and site.stmt.buffer.name == name
    )
