"""Checks of extents, which depend on lengths and sizes alone: once for a batch's."""

from __future__ import annotations

from collections.abc import Iterator

from ragged.analysis.obligations import divisions
from ragged.api.dims import affine_sizes
from ragged.api.functions_of import Functions
from ragged.api.tensors import RaggedTensor, Reduction
from ragged.arith.fold import ZERO
from ragged.ir.expr import Binary, Ref
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import substitute
from ragged.ir.stmt import Check, Label, Stmt, block
from ragged.layout.prelude import length_checks, nest
from ragged.passes.insert_checks import check_of


def extent_checks(tensor: RaggedTensor, functions: Functions, *, is_result: bool) -> Stmt:
    """Return the checks of extents, in loops over the dimensions before: divisors, lengths that are read, from 0 up."""
    extents = [(each.dim.var, each.extent.expr) for each in tensor.dims]
    if isinstance(tensor.body, Reduction):
        own = dict(zip(tensor.indices, (Ref(each.dim.var) for each in tensor.dims), strict=True))
        extents += [(axis.var, substitute(axis.extent.expr, own)) for axis in tensor.body.axes]
    domain = [(var, functions.expr(extent)) for var, extent in extents]
    found = [functions.stmt(each) for each in (() if is_result else _negative(tensor))]
    found += length_checks(domain, at=tensor.at)
    for position, (_, extent) in enumerate(extents):
        checks = {each.condition: check_of(each, tensor.at) for each in divisions(extent)}
        if checks:
            found.append(nest(domain[:position], functions.stmt(block(*checks.values()))))
    return block(*found)


def _negative(tensor: RaggedTensor) -> Iterator[Check]:
    """Yield checks of a tensor's extents that sizes may make negative."""
    for each in tensor.dims:
        form = affine_sizes(each.extent.expr)
        if form is not None and min(form.constant, *(factor for _, factor in form.terms), 0) < 0:
            message = (
                f"'{tensor.name}' extends {{0}} in dimension '{each.dim.name}', and no extent is negative"
            )
            label = Label(f"{tensor.name}.extent{each.position}")
            condition = Binary(BinaryOp.LE, ZERO, each.extent.expr)
            yield Check(label, condition, message, (each.extent.expr,), tensor.at)
