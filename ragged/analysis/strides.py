"""Which elements come next to each other as a loop goes on."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.arith.affine import growth
from ragged.ir.expr import Buffer, Expr, Var
from ragged.ir.walk import mentions


def stepped(indices: Sequence[Expr], var: Var) -> int | None:
    """Return the dimension that a loop's variable indexes, one by one, if it stands in no other."""
    places = [d for d, index in enumerate(indices) if mentions(index, (var,))]
    return places[0] if len(places) == 1 and growth(indices[places[0]], var) == 1 else None


def is_consecutive(buffer: Buffer, indices: Sequence[Expr], var: Var) -> bool:
    """Return whether the elements at `indices` are consecutive in memory as the loop's variable goes on."""
    return bool(indices) and stepped(indices, var) == buffer.order[-1]
