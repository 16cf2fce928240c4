"""Storage of a tensor under a schedule: packed, padded, with dimensions split, fused or reordered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragged.api.functions_of import Functions
from ragged.api.program import Piece, ScheduleDecisions, refuse
from ragged.api.tensors import RaggedTensor
from ragged.arith.affine import AffineForm, affine
from ragged.arith.fold import FoldedSubstitution, floordiv, modulo, plus, times
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.rewrite import substitute
from ragged.ir.walk import subexpressions
from ragged.layout.packed import PackedLayout, packed, temporary

TILE_PARTS = ("_tile", "_lane")
"""What the names of the dimensions end in that `tile_rows` makes of one."""


def padded(extent: Expr, multiple: int) -> Expr:
    """Return an extent rounded up to a multiple."""
    return (
        extent
        if multiple == 1
        else times(floordiv(plus(extent, Const(multiple - 1)), multiple), Const(multiple))
    )


def stored_extent(tensor: RaggedTensor, position: int, decisions: ScheduleDecisions) -> Expr:
    """Return the stored extent of a dimension, as an expression of the API over the dimensions before it."""
    depth = decisions.at[tensor][1] if tensor in decisions.at else 0
    if position < depth:  # it is padded as its reader's loops are
        return padded(tensor.dims[position].extent.expr, decisions.multiple(tensor, position))
    return padded(tensor.dims[position].extent.expr, decisions.storage.get((tensor, position), 1))


def stored(tensor: RaggedTensor, decisions: ScheduleDecisions, functions: Functions) -> PackedLayout:
    """Return the layout of a tensor; `ScheduleError` where dimensions cannot be fused."""
    dims = [
        (each.dim.var, functions.expr(stored_extent(tensor, position, decisions)))
        for position, each in enumerate(tensor.dims)
    ]
    if tensor in decisions.at:
        depth = decisions.at[tensor][1]
        bound = [
            extent if position < depth else _most(position, dims, functions)
            for position, (_, extent) in enumerate(dims)
        ]
        layout = temporary(dims, depth, bound, functions.tables)
        outer, inner, multiple = decisions.bulk.get(decisions.owner(tensor, 0), (0, 1, 1))
        if (outer, inner, depth) != (0, 1, 2):
            return layout
        return replace(layout, shape=(padded(layout.shape[0], multiple), *layout.shape[1:]))
    groups = decisions.groups.get(tensor)
    if groups is None:
        layout = packed(dims, functions.tables)
        return _bulk(tensor, layout, *decisions.bulk[tensor]) if tensor in decisions.bulk else layout
    return _grouped(tensor, dims, groups, functions)


def _bulk(tensor: RaggedTensor, layout: PackedLayout, outer: int, inner: int, multiple: int) -> PackedLayout:
    """Return the layout with all rows together padded to a multiple; `ScheduleError` if other dimensions vary."""
    if (layout.first, layout.last) != (outer, inner):
        names = " and ".join(f"'{tensor.dims[p].dim.name}'" for p in (outer, inner))
        own = ", ".join(f"'{each.dim.name}'" for each in tensor.dims[layout.first : layout.last + 1])
        raise ScheduleError(
            f"fuse_dimensions: cannot store {names} of '{tensor.name}' as one dimension",
            because=f"{own} depend on each other, and are stored as one",
        )
    shape = list(layout.shape)
    shape[outer] = padded(shape[outer], multiple)
    return replace(layout, shape=tuple(shape))


def _most(position: int, dims: Sequence[tuple[Var, Expr]], functions: Functions) -> Expr:
    """Return an upper bound of a dimension's extent: a number or a size if it has one, else the largest of all rows."""
    extent = dims[position][1]
    bounds = (
        [extent.lhs, extent.rhs] if isinstance(extent, Binary) and extent.op is BinaryOp.MIN else [extent]
    )
    for bound in sorted(bounds, key=lambda each: not isinstance(each, Const)):
        if not any(linear_uses(bound, var) for var, _ in dims[:position]):
            return bound
    used: list[int] = []
    for place in reversed(range(position)):
        needed = (extent, *(dims[other][1] for other in used))
        if any(linear_uses(each, dims[place][0]) for each in needed):
            used.insert(0, place)
    return functions.tables.largest([dims[place] for place in used], extent)


def linear_uses(extent: Expr, var: Var) -> bool:
    """True if an extent depends on a variable."""
    return substitute(extent, {var: Const(0)}) != extent


def fused_pair(outer: tuple[Var, Expr], inner: tuple[Var, Expr]) -> tuple[Expr, Expr] | None:
    """Return the index and the extent of two fused dimensions, or None if they do not fuse.

    They fuse if the inner extent is constant, or if they are the tiles of one dimension: each of `c` elements but the
    last, which has the remainder.
    """
    (i, rows), (j, extent) = outer, inner
    match extent:
        case (
            Binary(op=BinaryOp.MIN, lhs=Const(value=value), rhs=rest)
            | Binary(op=BinaryOp.MIN, lhs=rest, rhs=Const(value=value))
        ):
            size = int(value)
            whole = affine(rest).plus(affine(times(Ref(i), Const(size))))
            match rows:
                case Binary(op=BinaryOp.FLOORDIV, lhs=lhs, rhs=Const(value=by)) if by == size:
                    tiles = affine(lhs) == whole.plus(AffineForm(constant=size - 1))
                case _:
                    tiles = False
            if tiles and not linear_uses(whole.expr, i):
                return plus(times(Ref(i), Const(size)), Ref(j)), whole.expr
            return None
        case _ if not linear_uses(extent, i):
            return plus(times(Ref(i), extent), Ref(j)), times(rows, extent)
        case _:
            return None


def pieces_of(tensor: RaggedTensor, decisions: ScheduleDecisions) -> tuple[tuple[Piece, ...], ...]:
    """Return the pieces of each stored dimension of a tensor."""
    plain = tuple((Piece(position),) for position in range(len(tensor.dims)))
    return decisions.groups.get(tensor, plain)


def _grouped(
    tensor: RaggedTensor,
    dims: Sequence[tuple[Var, Expr]],
    groups: Sequence[tuple[Piece, ...]],
    functions: Functions,
) -> PackedLayout:
    own: list[tuple[Var, Expr]] = []
    places: dict[Var, Expr] = {}
    for group in groups:
        parts = [_part(tensor, dims, piece) for piece in group]
        var, extent, at = parts[0]
        for piece, (inner, count, place) in zip(group[1:], parts[1:], strict=True):
            pair = fused_pair((var, extent), (inner, count)) if len(group) == 2 else None
            if pair is None:
                names = " and ".join(f"'{each.name(tensor)}'" for each in group)
                raise ScheduleError(
                    f"fuse_dimensions: cannot store {names} of '{tensor.name}' as one dimension",
                    because=f"'{piece.name(tensor)}' extends {expr_text(count)} places, which is neither the same "
                    "everywhere nor what is left of tiles",
                )
            at = FoldedSubstitution(values={var: at, inner: place}).expr(pair[0])
            var, extent = Var(_fused_name([each.name(tensor) for each in group])), pair[1]
        own.append((var, extent))
        places[var] = at
    _require_known(tensor, own, groups)
    layout = packed(own, functions.tables)
    place_of = FoldedSubstitution(values=places).exprs(layout.place)
    variables = tuple(var for var, _ in dims)
    return PackedLayout(variables, layout.shape, place_of, layout.first, layout.last, tuple(own))


def _fused_name(names: Sequence[str]) -> str:
    """Return the name of a fused dimension: that of the rows, where `tile_rows` made tiles and lanes of them."""
    tile, *lanes = (name.removesuffix(part) for name, part in zip(names, TILE_PARTS, strict=False))
    return tile if [tile] == lanes and tile not in names else "_".join(names)


def _require_known(
    tensor: RaggedTensor, own: Sequence[tuple[Var, Expr]], groups: Sequence[tuple[Piece, ...]]
) -> None:
    """Refuse storage in which an extent depends on a dimension that is split or fused."""
    known: set[Var] = set()
    for (var, extent), group in zip(own, groups, strict=True):
        for part in subexpressions(extent):
            if isinstance(part, Ref) and part.var not in known:
                names = " and ".join(f"'{piece.name(tensor)}'" for piece in group)
                raise ScheduleError(
                    f"cannot store the dimensions of '{tensor.name}' so",
                    at=tensor.at,
                    because=f"{names} extends {expr_text(extent)}, "
                    f"and '{part.var.name}' is not stored as one dimension",
                    fix=f"leave '{part.var.name}' as it is",
                )
        known.add(var)


def _part(tensor: RaggedTensor, dims: Sequence[tuple[Var, Expr]], piece: Piece) -> tuple[Var, Expr, Expr]:
    """Return a variable for a piece of a dimension, its extent, and an element's index along it."""
    var, extent = dims[piece.position]
    if piece.factor == 1:
        return var, extent, Ref(var)
    own = Var(piece.name(tensor))
    if piece.inner:
        return own, Const(piece.factor), modulo(Ref(var), piece.factor)
    return (
        own,
        floordiv(plus(extent, Const(piece.factor - 1)), piece.factor),
        floordiv(Ref(var), piece.factor),
    )


def require_before(what: str, tensor: RaggedTensor, piece: Piece, known: set[int]) -> None:
    """Refuse an order of dimensions in which one comes before another that its extent depends on."""
    own = tensor.dims[piece.position]
    for other in () if piece.inner else tensor.dims:
        if linear_uses(own.extent.expr, other.dim.var) and other.position not in known:
            refuse(
                what,
                because=f"'{own.dim.name}' extends {own.extent.text()}, which depends on '{other.dim.name}'",
                fix=f"put '{other.dim.name}' before '{own.dim.name}'",
            )
