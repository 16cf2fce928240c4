"""How a tensor is stored, as a schedule decides: packed, padded, with dimensions fused or in another order."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.api.functions_of import Functions
from ragged.api.program import Decisions
from ragged.api.tensors import Tensor
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.rewrite import substitute
from ragged.layout.packed import Layout, packed, temporary
from ragged.schedule.fold import FoldedSubstitution, floordiv, plus, times
from ragged.schedule.linear import Linear, linear


def padded(extent: Expr, multiple: int) -> Expr:
    """Return an extent rounded up to a multiple."""
    return (
        extent
        if multiple == 1
        else times(floordiv(plus(extent, Const(multiple - 1)), multiple), Const(multiple))
    )


def stored_extent(tensor: Tensor, position: int, decisions: Decisions) -> Expr:
    """Return how far a dimension's storage extends, as an expression of the API over the dimensions before it."""
    return padded(tensor.dims[position].extent.expr, decisions.storage.get((tensor, position), 1))


def stored(tensor: Tensor, decisions: Decisions, functions: Functions) -> Layout:
    """Return the layout of a tensor; `ScheduleError` where dimensions cannot be fused, or an extent not bounded."""
    dims = [
        (each.dim.var, functions.expr(stored_extent(tensor, position, decisions)))
        for position, each in enumerate(tensor.dims)
    ]
    if tensor in decisions.at:
        depth = decisions.at[tensor][1]
        bound = [
            extent if position < depth else _most(tensor, position, dims, functions)
            for position, (_, extent) in enumerate(dims)
        ]
        return temporary(dims, depth, bound, functions.tables)
    groups = decisions.groups.get(tensor)
    if groups is None:
        return packed(dims, functions.tables)
    return _grouped(tensor, dims, groups, functions)


def _most(tensor: Tensor, position: int, dims: Sequence[tuple[Var, Expr]], functions: Functions) -> Expr:
    """Return the most that a dimension extends at any index of those before it."""
    extent = dims[position][1]
    match extent:
        case Binary(op=BinaryOp.MIN, lhs=Const() as most) | Binary(op=BinaryOp.MIN, rhs=Const() as most):
            return most
        case _:
            used = [place for place in range(position) if linear_uses(extent, dims[place][0])]
    if not used:
        return extent
    if any(linear_uses(dims[place][1], var) for place in used for var, _ in dims):
        raise ScheduleError(
            f"compute_at: '{tensor.name}' has no bound in dimension '{tensor.dims[position].dim.name}'",
            because=f"{expr_text(extent)} depends on a dimension that varies itself",
            fix=f"ragged.minimum(..., number) as its extent, or leave '{tensor.name}' a nest of its own",
        )
    return functions.tables.largest([dims[place] for place in used], extent)


def linear_uses(extent: Expr, var: Var) -> bool:
    """True if an extent depends on a variable."""
    return substitute(extent, {var: Const(0)}) != extent


def fused_pair(outer: tuple[Var, Expr], inner: tuple[Var, Expr]) -> tuple[Expr, Expr] | None:
    """Return the index and the extent of two dimensions as one, or None if they cannot be.

    They can if the inner one extends as far everywhere, or if they are the tiles of a dimension of any length: as many
    as it takes, each of `c` places but the last, which has what is left over.
    """
    (i, rows), (j, extent) = outer, inner
    match extent:
        case (
            Binary(op=BinaryOp.MIN, lhs=Const(value=value), rhs=rest)
            | Binary(op=BinaryOp.MIN, lhs=rest, rhs=Const(value=value))
        ):
            size = int(value)
            whole = linear(rest).plus(linear(times(Ref(i), Const(size))))
            match rows:
                case Binary(op=BinaryOp.FLOORDIV, lhs=lhs, rhs=Const(value=by)) if by == size:
                    tiles = linear(lhs) == whole.plus(Linear(constant=size - 1))
                case _:
                    tiles = False
            if tiles and not linear_uses(whole.expr, i):
                return plus(times(Ref(i), Const(size)), Ref(j)), whole.expr
            return None
        case _ if not linear_uses(extent, i):
            return plus(times(Ref(i), extent), Ref(j)), times(rows, extent)
        case _:
            return None


def _grouped(
    tensor: Tensor, dims: Sequence[tuple[Var, Expr]], groups: Sequence[tuple[int, ...]], functions: Functions
) -> Layout:
    own: list[tuple[Var, Expr]] = []
    places: dict[Var, Expr] = {}
    for group in groups:
        index, extent = Ref(dims[group[0]][0]), dims[group[0]][1]
        at: Expr = index
        for position in group[1:]:
            pair = fused_pair((dims[group[0]][0], extent), dims[position]) if len(group) == 2 else None
            if pair is None:
                names = " and ".join(f"'{tensor.dims[p].dim.name}'" for p in group)
                raise ScheduleError(
                    f"fuse_dimensions: cannot store {names} of '{tensor.name}' as one dimension",
                    because=f"it extends {expr_text(dims[position][1])} places, which is neither the same everywhere "
                    "nor what is left of tiles",
                )
            at, extent = pair
        var = dims[group[0]][0] if len(group) == 1 else Var("_".join(tensor.dims[p].dim.name for p in group))
        own.append((var, extent))
        places[var] = at
    layout = packed(own, functions.tables)
    place = FoldedSubstitution(values=places).exprs(layout.place)
    variables, extents = tuple(var for var, _ in dims), tuple(extent for _, extent in dims)
    return Layout(variables, extents, layout.shape, place, layout.first, layout.last, tuple(own))
