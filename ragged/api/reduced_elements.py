"""What a reduction reads: contiguous elements of rows, columns side by side, elements of one result or of several."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ragged.api.tensors import Axis, Kind, RaggedTensor, Reduction
from ragged.arith.affine import growth
from ragged.arith.fold import ONE
from ragged.ir import expr as ir
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.walk import mentions, subexpressions

ROWS = 16
"""Rows of a partial result of sums of columns: few, so that they are in caches and workers share them evenly."""
COLUMNS = (64, 16, 4)
"""Columns that are summed side by side, then those of the rest: a row of them is four cache lines, one, or a part."""


def is_contiguous(
    body: Reduction, axis: Axis, own: Sequence[ir.Var], rows: Sequence[ir.Var], *, squeeze: bool
) -> bool:
    """Return whether an axis goes over the last dimension of all that is read along it, each element once.

    Results have the indices `own`; elements are of different rows where one of the indices `rows` differs.
    """
    read = reads_along_axes(body)
    others = [*rows, *(each.var for each in body.axes if each is not axis)]
    along = [load for load in read if mentions(load, (axis.var,))]
    places = [_last_dimension(load) if squeeze else len(load.indices) - 1 for load in along]
    return is_read_once(own, read) and all(
        growth(load.indices[last], axis.var) == 1
        and not mentions(load.indices[last], others)
        and not any(mentions(each, (axis.var,)) for each in load.indices[:last])
        for load, last in zip(along, places, strict=True)
    )


def is_read_once(indices: Sequence[ir.Var], read: Sequence[ir.Load]) -> bool:
    """Return whether something that is read is of one element of the result alone, as no factor of a product is."""
    return any(all(mentions(load, (index,)) for index in indices) for load in read)


def _last_dimension(load: ir.Load) -> int:
    """Return the last dimension of what is read that extends more than 1, if there is one."""
    places = [n for n, extent in enumerate(load.buffer.shape) if extent != ONE]
    return places[-1] if places else len(load.indices) - 1


def has_columns(result: RaggedTensor) -> bool:
    """Return whether a tensor reduces elements by columns, as many as are worth summing side by side."""
    if not result.dims:
        return False
    extent = result.dims[-1].extent.expr
    few = isinstance(extent, ir.Const) and int(extent.value) < COLUMNS[-1]
    return not few and is_by_columns(result)


def is_product(result: RaggedTensor) -> bool:
    """Return whether a tensor is a sum of products of rows that are read in order and numbers for each of them."""
    body = result.body
    if not (isinstance(body, Reduction) and body.combiner is Combiner.SUM and result.indices):
        return False
    last = result.indices[-1]
    match body.body.expr:
        case ir.Binary(op=BinaryOp.MUL, lhs=ir.Load() as lhs, rhs=ir.Load() as rhs):
            rows = [each for each in (lhs, rhs) if mentions(each, (last,))]
            return len(rows) == 1 and rows[0].indices[-1] == ir.Ref(last) and len(body.axes) == 1
        case _:
            return False


def is_short(result: RaggedTensor) -> bool:
    """Return whether a reduction is known to be of so few terms that other loops around it cost more than they save."""
    axes = result.body.axes if isinstance(result.body, Reduction) else ()
    extents = [axis.extent.expr for axis in axes]
    known = [int(each.value) for each in extents if isinstance(each, ir.Const)]
    return len(known) == len(extents) and prod(known) <= ROWS


def is_by_columns(result: RaggedTensor) -> bool:
    """Return whether a tensor reduces elements for each place of its last dimension that are side by side in it.

    Products, which use what they read in several sums, are none. No size matters: orders of sums follow from it.
    """
    body = result.body
    if not isinstance(body, Reduction) or not result.indices:
        return False
    last, read = result.indices[-1], reads_along_axes(body)
    return is_read_once(result.indices, read) and all(
        growth(load.indices[-1], last) == 1 and not any(mentions(each, (last,)) for each in load.indices[:-1])
        for load in read
        if mentions(load, (last,))
    )


def reads_along_axes(body: Reduction) -> list[ir.Load]:
    """Return the reads of a reduction that its axes change, but for those of indices of others.

    None if an index is read from a computed tensor: the kernel checks it each time, and other indices before
    (`hoist_checks`).
    """
    axes, value = [each.var for each in body.axes], body.body
    loads = [
        each for each in subexpressions(value.expr) if isinstance(each, ir.Load) and mentions(each, axes)
    ]
    inside = {part for load in loads for index in load.indices for part in subexpressions(index)}
    tensors = (value.sources[part.buffer] for part in inside if isinstance(part, ir.Load))
    if any(isinstance(each, RaggedTensor) and each.kind is Kind.COMPUTED for each in tensors):
        return []
    return [each for each in loads if each not in inside]
