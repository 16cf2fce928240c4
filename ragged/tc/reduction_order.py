"""In which order a statement reduces: term by term, in parts, in lanes or by columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from ragged.api.tensors import RaggedTensor, Reduction
from ragged.arith.affine import growth
from ragged.ir import expr as ir
from ragged.ir.walk import subexpressions
from ragged.tc.lanes import (
    ROWS,
    has_columns,
    is_by_columns,
    is_read_once,
    reads_along_axes,
    reduce_in_lanes,
    split_reduction,
)
from ragged.tc.terms import sum_by_terms


@dataclass(frozen=True, slots=True)
class ReductionOrder:
    """How a tensor reduces: partial results `in_rows` of `reduced`, readers first, and tensors summed by `columns`."""

    reduced: RaggedTensor
    in_rows: tuple[RaggedTensor, ...]
    columns: tuple[RaggedTensor, ...]


def order_reduction(
    written: RaggedTensor, size: int | None, others: Collection[RaggedTensor], name: Callable[[str], str]
) -> ReductionOrder:
    """Have a tensor that is written reduce, if it does, in an order in which its sums are vectors.

    Partial results are of `size` iterations where that is given. `others` are written before; `name` names tensors.
    """
    whole = _reducing(written, others)
    if not isinstance(whole.body, Reduction):
        size = None
    elif size is None:
        sum_by_terms(whole, name)
        size = ROWS if _reads_rows_again(whole, others) else None
    reduced = whole if size is None else split_reduction(whole, size, name)
    in_rows = reduce_in_lanes(reduced, name, in_parts=size is not None)
    own = (reduced, written) if whole is written else ()  # what is converted has no loops of its own
    return ReductionOrder(reduced, in_rows, tuple(filter(has_columns, dict.fromkeys(own))))


def _reducing(written: RaggedTensor, others: Iterable[RaggedTensor]) -> RaggedTensor:
    """Return the tensor that reduces for one that is written: one of floats that it converts or chooses, else itself.

    `others` are tensors that are written besides. Integers may be reduced in any order: LLVM does it in vectors itself.
    """
    body = written.body
    if body is None or isinstance(body, Reduction) or not written.dtype.is_float:
        return written
    known = {id(each) for each in others}
    sources = (each for each in body.sources.values() if isinstance(each, RaggedTensor))
    own = (each for each in sources if isinstance(each.body, Reduction) and id(each) not in known)
    return next(own, written)


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
    if body is None or (isinstance(body, Reduction) and not is_read_once(tensor, reads_along_axes(body))):
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
