"""Factors of products that are expressions: computed once, and not in each product."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ragged.api.dims import RaggedDim, affine_sizes
from ragged.api.program import is_product
from ragged.api.tensors import Kind, RaggedTensor, TensorDim
from ragged.api.values import Value
from ragged.ir import expr as ir
from ragged.ir.elementwise import Elementwise
from ragged.ir.rewrite import substitute
from ragged.ir.walk import loads, mentions, subexpressions, variables


def compute_factors(result: RaggedTensor, name: Callable[[str], str] = str) -> None:
    """Have a tensor read factors of products that are expressions from tensors of them.

    before::

        c(m, n) = sum(K, k: exp(a[m, k]) * b[k, n])

    after::

        c_factor(m, k) = exp(a[m, k])
        c(m, n) = sum(K, k: c_factor[m, k] * b[k, n])

    Factors are stored as what they read is; two that are alike, as in a covariance, are one. That is where elements of
    a factor are factors of several products, and it has a function, or both are expressions, of which none is packed:
    `tile_panels` reads one of arithmetic as it is. Extents are numbers and sizes. `name` gives names.
    """
    body = result.body
    if not is_product(body) or not isinstance(body.body.expr, ir.Binary):
        return
    extents = dict(zip(result.indices, (each.extent for each in result.dims), strict=True))
    extents |= {axis.var: axis.extent for axis in body.axes}
    if any(affine_sizes(each.expr) is None for each in extents.values()):
        return
    product, sources = body.body.expr, dict(body.body.sources)
    sides = product.lhs, product.rhs
    both = all(map(_is_expression, sides))
    found = []
    made: dict[tuple[ir.Expr, tuple[ir.Expr, ...]], RaggedTensor] = {}
    for side in sides:
        used = variables(side)
        is_shared = any(var not in used and extents[var].expr != ir.Const(1) for var in extents)
        if _is_expression(side) and is_shared and (both or _has_function(side)):
            own = {var: extents[var] for var in _as_read(side, [var for var in extents if var in used])}
            key = _at(side, own), tuple(each.expr for each in own.values())
            if key not in made:
                made[key] = _tensor(result, Value(side, sources), own, name(f"{result.name}_factor"))
                sources[made[key].buffer] = made[key]
            side = ir.Load(made[key].buffer, tuple(map(ir.Ref, own)), body.at)
        found.append(side)
    if tuple(found) != sides:
        expr = replace(product, lhs=found[0], rhs=found[1])
        result.body = replace(body, body=Value(expr, sources).trimmed())


def _as_read(side: ir.Expr, own: Sequence[ir.Var]) -> list[ir.Var]:
    """Return the indices of a factor in the order in which what it reads is stored, as far as that says one."""
    most = max(loads(side), key=lambda each: len(each.indices))
    places = [most.indices[dimension] for dimension in most.buffer.order]
    return sorted(
        own, key=lambda var: max((p for p, each in enumerate(places) if mentions(each, (var,))), default=-1)
    )


def _at(side: ir.Expr, own: Iterable[ir.Var]) -> ir.Expr:
    """Return a factor at numbers in the place of its indices: equal ones are of the same tensor."""
    return substitute(side, {var: ir.Const(-1 - place) for place, var in enumerate(own)})


def _is_expression(side: ir.Expr) -> bool:
    """Return whether a factor is computed from elements that are read at indices which are no data."""
    read = list(loads(side))
    return (
        not isinstance(side, ir.Load)
        and bool(read)
        and not any(True for each in read for _ in loads(*each.indices))
    )


def _has_function(side: ir.Expr) -> bool:
    return any(
        isinstance(each, ir.Unary) and isinstance(each.op, Elementwise) for each in subexpressions(side)
    )


def _tensor(result: RaggedTensor, side: Value, extents: Mapping[ir.Var, Value], name: str) -> RaggedTensor:
    """Return the tensor of a factor, with a dimension for each loop that it depends on."""
    dims = tuple(
        TensorDim(RaggedDim(var.name, ir.Var(var.name), ir.Dim(var.name)), extent)
        for var, extent in extents.items()
    )
    indices = {var: ir.Var(var.name) for var in extents}
    values: dict[ir.Var, ir.Expr] = {var: ir.Ref(new) for var, new in indices.items()}
    body = Value(substitute(side.expr, values), side.sources).trimmed()
    return RaggedTensor(name, Kind.COMPUTED, side.dtype, dims, tuple(indices.values()), body, result.at)
