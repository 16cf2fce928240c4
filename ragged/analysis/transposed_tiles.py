"""Nests that store a square of elements the other way round: what they read are rows, what they write columns."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.arith.affine import growth
from ragged.ir.dtype import DType
from ragged.ir.expr import Const, Load, Var
from ragged.ir.stmt import For, LoopKind, Store

SIDES = (4, 8, 16)
"""The lanes of the vectors of float32 that there are registers for: how many rows and columns a square has."""


@dataclass(frozen=True, slots=True)
class TransposedTile:
    """`out[.., i.., j + ..] = rows[.., j.., i + ..]` for `side` rows and columns, of float32.

    What `out` has side by side `column` goes along, and `row` what `rows` has side by side.
    """

    side: int
    row: Var
    column: Var
    out: Store
    rows: Load


def transposed_tile(loop: For) -> TransposedTile | None:
    """Return what a nest of two loops transposes; None for any other."""
    match loop:
        case For(
            extent=Const(value=side),
            body=For(
                kind=LoopKind.VECTORIZED, extent=Const(value=lanes), body=Store(value=Load() as rows) as out
            ) as inner,
        ) if side == lanes and side in SIDES:
            pass
        case _:
            return None
    if {out.buffer.dtype, rows.buffer.dtype} != {DType.FLOAT32} or out.buffer is rows.buffer:
        return None
    row, column = loop.var, inner.var
    turned = _is_row(Load(out.buffer, out.indices), column, row) and _is_row(rows, row, column)
    return TransposedTile(int(side), row, column, out, rows) if turned else None


def _is_row(element: Load, along: Var, other: Var) -> bool:
    """Return whether elements are side by side as `along` goes on, and in rows as far apart as `other` does."""
    last = element.buffer.order[-1]
    beside = [growth(index, along) for index in element.indices]
    apart = [growth(index, other) for index in element.indices]
    return (
        beside == [1 if d == last else 0 for d in range(len(beside))]
        and None not in apart
        and apart[last] == 0
        and any(apart)
    )
