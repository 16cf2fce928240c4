"""Which elements come next to each other as a loop goes on."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.analysis.buffers import all_buffers
from ragged.arith.affine import AffineForm, affine, growth, growth_of
from ragged.arith.fold import times
from ragged.ir.expr import Buffer, Const, Expr, Var
from ragged.ir.program import Program
from ragged.ir.walk import mentions


def stepped(indices: Sequence[Expr], var: Var) -> int | None:
    """Return the dimension that a loop's variable indexes, one by one, if it stands in no other."""
    places = [d for d, index in enumerate(indices) if mentions(index, (var,))]
    return places[0] if len(places) == 1 and growth(indices[places[0]], var) == 1 else None


def is_consecutive(buffer: Buffer, indices: Sequence[Expr], var: Var) -> bool:
    """Return whether the elements at `indices` are consecutive in memory as the loop's variable goes on."""
    return bool(indices) and stepped(indices, var) == buffer.order[-1]


def flat_offset(buffer: Buffer, indices: Sequence[Expr]) -> AffineForm:
    """Return the offset of an element, in elements, in storage that is row-major over the order of the dimensions."""
    form = AffineForm()
    for d in buffer.order:
        extent = buffer.shape[d]
        if isinstance(extent, Const):
            form = AffineForm().plus(form, int(extent.value))
        else:
            form = _times(form, extent)
        form = form.plus(affine(indices[d]))
    return form.recombined()


def has_strides_of_a_call(program: Program) -> bool:
    """Return whether an array's rows lie apart by a number of elements that calls give."""
    return any(
        not isinstance(buffer.shape[dimension], Const)
        for buffer in all_buffers(program)
        for dimension in buffer.order[1:]
    )


def flat_growth(buffer: Buffer, indices: Sequence[Expr], var: Var) -> int | None:
    """Return by how many elements an offset grows with a variable; None if that is not the same number each time."""
    return growth_of(flat_offset(buffer, indices), var)


def _times(form: AffineForm, extent: Expr) -> AffineForm:
    product = AffineForm().plus(affine(extent), form.constant)
    for term, coefficient in form.terms.items():
        product = product.plus(affine(times(term, extent)), coefficient)
    return product
