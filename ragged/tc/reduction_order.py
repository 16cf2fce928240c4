"""In which order a statement reduces: term by term, in parts, in lanes or by columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from ragged.api.factors import compute_factors
from ragged.api.lanes import place_columns, reduce_in_lanes, split_reduction
from ragged.api.program import with_parts
from ragged.api.reduced_elements import (
    ROWS,
    has_columns,
    is_by_columns,
    is_read_once,
    reads_along_axes,
)
from ragged.api.tensors import PartPlace, RaggedTensor, Reduction
from ragged.arith.affine import growth
from ragged.ir import expr as ir
from ragged.ir.walk import subexpressions
from ragged.tc.terms import sum_by_terms


@dataclass(frozen=True, slots=True)
class ReductionOrder:
    """How a statement reduces: partial results `in_rows` of `tensor`, readers first; tensors summed by `columns`."""

    tensor: RaggedTensor
    in_rows: tuple[RaggedTensor, ...]
    columns: tuple[RaggedTensor, ...]


def order_reduction(
    target: RaggedTensor,
    size: int | None,
    earlier: Collection[RaggedTensor],
    fresh_name: Callable[[str], str],
) -> ReductionOrder:
    """Choose the order of a statement's reduction, by terms, in parts, in lanes or by columns, and rewrite `target` so.

    Parts are of `size` iterations where that is given. `earlier` are the tensors of the statements before.
    """
    for each in with_parts(target):
        compute_factors(each, fresh_name)
    tensor = _reduction_tensor(target, earlier)
    is_own = tensor is target
    if not isinstance(tensor.body, Reduction):
        size = None
    elif size is None:
        sum_by_terms(tensor, fresh_name)
        size = ROWS if _reads_rows_again(tensor, earlier) else None
    parts = tensor if size is None else split_reduction(tensor, size, fresh_name)
    in_rows = reduce_in_lanes(parts, fresh_name, in_parts=size is not None)
    place_columns(tensor)
    # rows of what is converted are in the loops of its reader
    loops = (parts, target) if is_own else (tensor,) if tensor.part is PartPlace.COLUMNS else ()
    return ReductionOrder(parts, in_rows, tuple(filter(has_columns, dict.fromkeys(loops))))


def _reduction_tensor(target: RaggedTensor, earlier: Iterable[RaggedTensor]) -> RaggedTensor:
    """Return the tensor of the reduction that a statement converts or chooses, else the statement's own."""
    body = target.body
    if body is None or isinstance(body, Reduction):
        return target
    known = {id(each) for each in earlier}
    sources = (each for each in body.sources.values() if isinstance(each, RaggedTensor))
    found = (each for each in sources if isinstance(each.body, Reduction) and id(each) not in known)
    return next(found, target)


def holds_columns(tensor: RaggedTensor) -> bool:
    """Return whether columns of another tensor are reduced in the rows of this one, which are loops of their own."""
    if tensor.body is None or isinstance(tensor.body, Reduction):
        return False
    sources = tensor.body.sources.values()
    return any(isinstance(each, RaggedTensor) and each.part is PartPlace.COLUMNS for each in sources)


def _reads_rows_again(result: RaggedTensor, earlier: Iterable[RaggedTensor]) -> bool:
    """Return whether a tensor sums columns of rows that one computed earlier reads row by row, other than a product.

    Both can be done with some rows while these are in caches, where the sum is of partial results of so many.
    """
    body = result.body
    if not isinstance(body, Reduction) or len(body.axes) > 1 or not is_by_columns(result):
        return False
    extent = body.axes[0].extent.expr
    if isinstance(extent, ir.Const) and int(extent.value) <= ROWS:
        return False
    read = _places(reads_along_axes(body), [body.axes[0].var])
    return any(not read.isdisjoint(_rows(each)) for each in earlier)


def _rows(tensor: RaggedTensor) -> set[tuple[ir.Buffer, int]]:
    """Return the dimensions of what a computed tensor reads at its own indices; none of a product."""
    body = tensor.body
    if body is None or (
        isinstance(body, Reduction) and not is_read_once(tensor.indices, reads_along_axes(body))
    ):
        return set()
    value = body.body if isinstance(body, Reduction) else body
    found = [each for each in subexpressions(value.expr) if isinstance(each, ir.Load)]
    return _places(found, tensor.indices)


def _places(read: Iterable[ir.Load], variables: Iterable[ir.Var]) -> set[tuple[ir.Buffer, int]]:
    """Return the buffers that are read, each with the dimensions along which one of the variables goes."""
    return {
        (load.buffer, place)
        for load in read
        for place, index in enumerate(load.indices)
        if any(growth(index, var) == 1 for var in variables)
    }
