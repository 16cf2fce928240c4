"""The packed layout of a ragged tensor: row-major order without gaps, with constant-time indexing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragged.arith.fold import FoldedSubstitution, plus, times
from ragged.ir.expr import Call, Const, Expr, Ref, Var
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
    the buffer. Each dimension that others depend on has an array of offsets; dense ones between are row-major.
    """
    variables, extents = tuple(var for var, _ in dims), tuple(extent for _, extent in dims)
    depends = [[k for k, var in enumerate(variables) if mentions(extent, (var,))] for extent in extents]
    owners = sorted({owner for each in depends for owner in each})
    if not owners:
        return PackedLayout(variables, extents, tuple(map(Ref, variables)), len(dims), len(dims))
    first, last = owners[0], max(k for k, each in enumerate(depends) if each)
    place: Expr = Ref(variables[first])
    count = extents[first]
    at: Var | None = variables[first]  # while the place is one variable, volumes are functions of it
    for owner, after in pairwise((*owners, last)):
        group = range(owner + 1, after + 1)
        if not group:
            continue
        volume: Expr = Const(1)
        for k in group:
            volume = times(volume, extents[k])
        domain = [(variables[k], extents[k]) for k in range(first, owner + 1)]
        own = at if at is not None else Var("p")
        length = volume if at is not None else _at_place(volume, place, own)
        offsets = tables.offsets(domain, volume, count, length, own)
        inner: Expr = Const(0)
        for k in group:
            inner = plus(times(inner, extents[k]), Ref(variables[k]))
        place, count, at = plus(Call(offsets, (place,)), inner), Call(offsets, (count,)), None
    shape = (*extents[:first], count, *extents[last + 1 :])
    places = (*map(Ref, variables[:first]), place, *map(Ref, variables[last + 1 :]))
    return PackedLayout(variables, shape, places, first, last)


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
