"""Nests that store a tile of elements the other way round: what they read are rows, what they write columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragged.analysis.loop_bodies import lets_of
from ragged.analysis.masked_lanes import is_whole_row
from ragged.analysis.strides import flat_growth
from ragged.arith.affine import growth
from ragged.ir.dtype import DType
from ragged.ir.expr import Const, Expr, Load, Var
from ragged.ir.rewrite import substitute_lets
from ragged.ir.stmt import For, LoopKind, Store, lanes_at_most

SIDES = (4, 8, 16)
"""The lanes of the vectors of float32 that there are registers for: how many elements of a row a tile has."""
_MOST_ROWS = max(SIDES)


@dataclass(frozen=True, slots=True)
class TransposedTile:
    """`out[.., i.., j + ..] = rows[.., j.., i + ..]` for every i below `stored` and each j below `columns`, of float32.

    Rows that are read have `lanes` elements, all of which may be read; those that are written have `columns`, and are
    as many as `stored`, at most `lanes`. What `out` has side by side `column` goes along, and `row` what `rows` has.
    """

    lanes: int
    columns: int
    stored: Expr
    row: Var
    column: Var
    out: Store
    rows: Load


def transposed_tile(loop: For) -> TransposedTile | None:
    """Return what a nest of two loops transposes; None for any other."""
    lanes = lanes_at_most(loop)
    inner = loop.body
    if (
        not isinstance(inner, For)
        or inner.kind is not LoopKind.VECTORIZED
        or not isinstance(inner.extent, Const)
    ):
        return None
    lets, store = lets_of(inner.body)
    columns = int(inner.extent.value)
    if lanes not in SIDES or not 1 < columns <= _MOST_ROWS or not isinstance(store, Store):
        return None
    assert lanes is not None, "one of the sides"
    value = substitute_lets(store.value, lets)
    out = replace(store, indices=tuple(substitute_lets(index, lets) for index in store.indices), value=value)
    if not isinstance(value, Load):
        return None
    rows = value
    if {out.buffer.dtype, rows.buffer.dtype} != {DType.FLOAT32} or out.buffer is rows.buffer:
        return None
    row, column = loop.var, inner.var
    turned = _is_row(Load(out.buffer, out.indices), column, row, columns) and _is_row(
        rows, row, column, lanes
    )
    if not turned or not (isinstance(loop.extent, Const) or is_whole_row(rows, row, lanes)):
        return None
    return TransposedTile(lanes, columns, loop.extent, row, column, out, rows)


def _is_row(element: Load, along: Var, other: Var, count: int) -> bool:
    """Return whether `count` elements are side by side as `along` goes on, in rows as far apart as `other` does."""
    step, distance = (flat_growth(element.buffer, element.indices, var) for var in (along, other))
    if step == 1 and abs(distance or 0) >= count:
        return True
    last = element.buffer.order[-1]
    beside = [growth(index, along) for index in element.indices]
    apart = [growth(index, other) for index in element.indices]
    return (
        beside == [1 if d == last else 0 for d in range(len(beside))]
        and None not in apart
        and apart[last] == 0
        and any(apart)
    )
