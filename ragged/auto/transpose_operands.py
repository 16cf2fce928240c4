"""Operands of products that are read across their rows, as A in A^T B: copied once, transposed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from ragged.analysis.dense_products import DenseProduct, dense_products
from ragged.analysis.site_of import site_of
from ragged.arith.fold import ONE, modulo, plus, times
from ragged.auto.panel_copies import lay_out_copy
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Expr, Load, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.stmt import Label
from ragged.ir.walk import mentions
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.prefetch import LINE_BYTES
from ragged.transform.loops.version_loop import version_loop
from ragged.transform.mapping.parallel import parallel
from ragged.transform.storage.cache_padded import cache_padded

_ALIASED = 16
"""Of rows that are a multiple of so many cache lines apart, a cache holds lines in one of so many of its sets."""
_PANELS = 2
"""Panels for which each of several threads has to read what others have copied, from their caches."""
MOST_VERSIONS = 2
"""The most products with code for sizes with and without a copy, or for few rows, which takes longer to compile."""


def transpose_operands(
    schedule: LoopSchedule, machine: Machine, updates: Sequence[Label], columns: int, threads: int
) -> dict[Label, tuple[Label, ...]]:
    """Copy operands with the rows of products before these, transposed, if sums go across rows that are far apart.

    before::

        for m in parallel(M):
            for n in parallel(N):
                y[m, n] = 0.0
                for k in serial(4096):
                    y[m, n] += a[k, m] * b[k, n]

    after::

        for m_1 in parallel(M):
            for k_1 in serial(4096):
                a_padded[k_1, m_1] = a[k_1, m_1]
        for m in parallel(M):
            for n in parallel(N):
                y[m, n] = 0.0
                for k in serial(4096):
                    y[m, n] += a_padded[k, m] * b[k, n]

    The copy is stored by columns. A tile of rows reads a part of a cache line in each step of its sum, and the next
    tile the rest: from memory, for each panel of so many `columns`, if the second cache does not hold that many lines.
    Several `threads` read what others have copied, so that each of them has to have several panels.
    Where sizes of a call say so, there is code for both, if there are few such products. Returns the updates of each
    product of `updates`; the last one reads the copy, if there is one.
    """
    gains = {}
    for product in dense_products(schedule.program):
        operand = _read_across(product)
        if product.update in updates and operand is not None and not product.around:
            gain = _gain(product, operand, machine, columns, threads)
            if not isinstance(gain, Const) or gain.value > 0:
                gains[product.update] = product, operand, gain
    versions = sum(not isinstance(gain, Const) for _, _, gain in gains.values())
    return {update: (update,) for update in updates} | {
        update: _copied(schedule, *found)
        for update, found in gains.items()
        if versions <= MOST_VERSIONS or isinstance(found[-1], Const)
    }


def _copied(schedule: LoopSchedule, product: DenseProduct, operand: Load, gain: Expr) -> tuple[Label, ...]:
    """Copy an operand where that is a gain; return the updates of the product, the last of which reads the copy."""
    update = product.update
    labels: tuple[Label, ...] = (update,)
    before = schedule.checkpoint()
    try:
        if not isinstance(gain, Const):
            labels = schedule.apply(version_loop, _outermost(schedule, update), ONE, gain).labels[update]
        loop = _outermost(schedule, labels[-1])
        schedule.apply(cache_padded, labels[-1], loop, operand.buffer, before=True)
        axes = {axis.var for axis in product.axes}
        across = [mentions(each, axes) for each in operand.indices]
        order = sorted(range(len(across)), key=lambda d: across[d])
        schedule.apply(parallel, lay_out_copy(schedule, order, len(order))[0])
    except ScheduleError:
        schedule.restore(before)
        return (update,)
    return labels


def _read_across(product: DenseProduct) -> Load | None:
    """Return the operand with a product's rows, if these alone stand side by side in memory; else None."""
    rows, axes = ([loop.var for loop in loops] for loops in (product.rows, product.axes))
    loops = {*rows, *axes, *(loop.var for loop in product.batch)}
    for operand in product.others:
        if isinstance(operand, Load) and operand.buffer is not product.operand.buffer:
            names = [index.var for index in operand.indices if isinstance(index, Ref)]
            plain = len(set(names)) == len(operand.indices) and {*axes} <= {*names} <= loops
            if plain and names[operand.buffer.order[-1]] in rows:
                return operand
    return None


def _gain(product: DenseProduct, operand: Load, machine: Machine, columns: int, threads: int) -> Expr:
    """Return an index that is positive where a copy is worth it.

    The operand exceeds the second cache, and each thread reads it for several panels; a panel with the lines that a sum
    goes across exceeds that cache too, or these lines the part of it that they share.
    """
    size, cache = operand.buffer.dtype.bytes, machine.l2_bytes
    side_by_side = operand.indices[operand.buffer.order[-1]]
    rows = next(loop.extent for loop in product.rows if side_by_side == Ref(loop.var))
    steps = reduce(times, (axis.extent for axis in product.axes))
    aliased = plus(times(modulo(rows, _ALIASED * LINE_BYTES // size), Const(-1)), ONE)
    lines_of_part = _least(plus(steps, Const(-(cache // _ALIASED // LINE_BYTES))), aliased)
    lines_beside_panel = plus(steps, Const(-(cache // (LINE_BYTES + columns * size))))
    return _least(
        _largest(lines_of_part, lines_beside_panel),
        plus(times(steps, rows), Const(-(cache // size))),
        plus(product.columns.extent, Const(-columns * (1 if threads == 1 else _PANELS * threads))),
    )


def _extreme(op: BinaryOp, decides: bool, *parts: Expr) -> Expr:
    """Return the least or largest of indices, as far as needed to say whether it is positive."""
    known = [each for each in parts if isinstance(each, Const)]
    rest = [each for each in parts if not isinstance(each, Const)]
    decisive = [each for each in known if (each.value > 0) is decides]
    return next(iter(decisive), reduce(partial(Binary, op), rest) if rest else known[0])


_least = partial(_extreme, BinaryOp.MIN, False)
_largest = partial(_extreme, BinaryOp.MAX, True)


def _outermost(schedule: LoopSchedule, update: Label) -> Var:
    """Return the outermost loop around an update."""
    site = site_of(schedule.program, update)
    assert site is not None, "it is there"
    return site.loops[0].var
