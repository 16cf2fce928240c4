"""The packed layout of a ragged tensor: row-major order without gaps, with constant-time indexing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragged.arith.fold import FoldedSubstitution, plus, times
from ragged.ir.expr import Call, Const, Expr, Ref, Source, Var
from ragged.ir.rewrite import substitute
from ragged.ir.walk import mentions
from ragged.layout.tables import Extents, PreludeTables


@dataclass(frozen=True, slots=True)
class PackedLayout:
    """The buffer's `shape`, and the indices `place` in it of the element at `vars`, the indices along each dimension.

    `dims` are the stored dimensions where they are others. Dimensions `first` to `last` are one in the buffer.
    """

    vars: tuple[Var, ...]
    shape: tuple[Expr, ...]
    place: tuple[Expr, ...]
    first: int
    last: int
    dims: Extents = ()

    @property
    def row(self) -> tuple[Expr, Expr]:
        """The row-major position of an element, and the number of elements."""
        row: Expr = Const(0)
        rows: Expr = Const(1)
        for place, extent in zip(self.place, self.shape, strict=True):
            row, rows = plus(times(row, extent), place), times(extent, rows)
        return row, rows

    def at(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return the buffer's indices of the element at `indices`."""
        values = dict(zip(self.vars, indices, strict=True))
        return FoldedSubstitution(values=values).exprs(self.place)


def packed(dims: Extents, tables: PreludeTables) -> PackedLayout:
    """Return the layout of nested dimensions, from their dependence graph (CoRa, Appendix B, Algorithm 1).

    Dimensions from the first that another depends on to the last that depends on one are packed into one dimension of
    the buffer. Each dimension that others depend on has an array of offsets; dense ones between are row-major. Where
    the size of a slice depends on the dimension's own index alone, and its extent is a length, the array is that of its
    largest extent, for all indices outside; else it counts through the dimensions outside.
    """
    variables, extents = tuple(var for var, _ in dims), tuple(extent for _, extent in dims)
    depends = [[k for k, var in enumerate(variables) if mentions(extent, (var,))] for extent in extents]
    owners = sorted({owner for each in depends for owner in each})
    if not owners:
        return PackedLayout(variables, extents, tuple(map(Ref, variables)), len(dims), len(dims))
    first, last = owners[0], max(k for k, each in enumerate(depends) if each)
    inside: list[Expr] = [*map(Ref, variables)]
    sizes, end = list(extents), last
    while len(owners) > 1:
        k, group = owners[-1], range(owners[-1] + 1, end + 1)
        volume = _product(sizes, group)
        if mentions(volume, variables[:k]) or not _is_length(extents[k]):
            break
        most = _largest(dims, k, tables)
        offsets = tables.offsets([(variables[k], most)], volume, most, volume, variables[k])
        inside[k] = plus(Call(offsets, (inside[k],)), _row_major(inside, sizes, group))
        sizes[k] = Call(offsets, (sizes[k],))
        owners, end = owners[:-1], k
    place: Expr = Ref(variables[first])
    count = extents[first]
    at: Var | None = variables[first]  # while the place is one variable, volumes are functions of it
    for owner, after in pairwise((*owners, end)):
        group = range(owner + 1, after + 1)
        if not group:
            continue
        volume = _product(sizes, group)
        domain = [(variables[k], extents[k]) for k in range(first, owner + 1)]
        own = at if at is not None else Var("p")
        length = volume if at is not None else _at_place(volume, place, own)
        offsets = tables.offsets(domain, volume, count, length, own)
        inner = _row_major(inside, sizes, group)
        place, count, at = plus(Call(offsets, (place,)), inner), Call(offsets, (count,)), None
    shape = (*extents[:first], count, *extents[last + 1 :])
    places = (*map(Ref, variables[:first]), place, *map(Ref, variables[last + 1 :]))
    return PackedLayout(variables, shape, places, first, last)


def _product(sizes: Sequence[Expr], group: Iterable[int]) -> Expr:
    """Return how many elements the dimensions of a group have."""
    product: Expr = Const(1)
    for k in group:
        product = times(product, sizes[k])
    return product


def _row_major(places: Sequence[Expr], sizes: Sequence[Expr], group: Iterable[int]) -> Expr:
    """Return the row-major position of an element in the dimensions of a group."""
    place: Expr = Const(0)
    for k in group:
        place = plus(times(place, sizes[k]), places[k])
    return place


def _is_length(extent: Expr) -> bool:
    """Return whether an extent is a number or a given length, which no call gives as a negative number."""
    return isinstance(extent, Const) or (isinstance(extent, Call) and extent.function.source is Source.INPUT)


def _largest(dims: Extents, position: int, tables: PreludeTables) -> Expr:
    """Return the largest extent of a dimension; itself if it is the same everywhere."""
    extent = dims[position][1]
    used: list[tuple[Var, Expr]] = []
    for var, own in reversed(dims[:position]):
        if mentions(extent, (var,)) or any(mentions(each, (var,)) for _, each in used):
            used.insert(0, (var, own))
    return tables.largest(used, extent) if used else extent


def temporary(dims: Extents, depth: int, bound: Sequence[Expr], tables: PreludeTables) -> PackedLayout:
    """Return the layout of a temporary that is live in one iteration of the `depth` outermost dimensions.

    These are one dimension of the buffer, to be contracted; the others have the constant extents of `bound`.
    """
    row, rows = packed(dims[:depth], tables).row
    variables = tuple(var for var, _ in dims)
    places = (row, *map(Ref, variables[depth:]))
    return PackedLayout(variables, (rows, *bound[depth:]), places, depth, depth)


def _at_place(volume: Expr, place: Expr, own: Var) -> Expr | None:
    """Return a volume as a function of the row-major position alone, if it is a table over positions."""
    match volume:
        case Call(function=function, args=args) if function.body is not None:
            values = dict(zip((p.var for p in function.params), args, strict=True))
            return _at_place(substitute(function.body, values), place, own)
        case Call(function=function, args=(arg,)) if arg == place:
            return Call(function, (Ref(own),))
        case _:
            return None
