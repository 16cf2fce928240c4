"""Which elements come next to each other as a loop goes on."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.ir.expr import Binary, Buffer, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.walk import mentions


def stepped(indices: Sequence[Expr], var: Var) -> int | None:
    """Return the dimension that a loop's variable indexes, one by one, if it stands in no other."""
    places = [d for d, index in enumerate(indices) if mentions(index, (var,))]
    return places[0] if len(places) == 1 and _grows_with(indices[places[0]], var) else None


def is_consecutive(buffer: Buffer, indices: Sequence[Expr], var: Var) -> bool:
    """Return whether the elements at `indices` are consecutive in memory as the loop's variable goes on."""
    return bool(indices) and stepped(indices, var) == buffer.order[-1]


def _grows_with(index: Expr, var: Var) -> bool:
    """Return whether an index grows by one with the variable."""
    match index:
        case Ref(var=own):
            return own is var
        case Binary(op=BinaryOp.ADD, lhs=lhs, rhs=rhs):
            return any(
                _grows_with(part, var) and not mentions(other, (var,))
                for part, other in ((lhs, rhs), (rhs, lhs))
            )
        case _:
            return False
