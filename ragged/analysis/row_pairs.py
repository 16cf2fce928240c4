"""Loops that round a row of float32 to pairs: each of two elements side by side."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.arith.affine import AffineForm, affine, growth
from ragged.ir.expr import Binary, Expr, Load, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.stmt import Stmt, Store


def pair_row(stmt: Stmt, var: Var) -> Load | None:
    """Return the first element of a pair, where a statement makes pairs of consecutive elements as `var` goes on.

    It is `pairs[.., var + a] = pair(x[.., 2 * var + b], x[.., 2 * var + b + 1])`; None for any other.
    """
    match stmt:
        case Store(value=Binary(op=BinaryOp.PAIR, lhs=Load() as first, rhs=Load() as second)):
            pass
        case _:
            return None
    if first.buffer is not second.buffer or not _goes_on(stmt.buffer.order[-1], stmt.indices, var, 1):
        return None
    last = first.buffer.order[-1]
    steps = [affine(b).plus(affine(a), -1) for a, b in zip(first.indices, second.indices, strict=True)]
    apart = [AffineForm(constant=1) if d == last else AffineForm() for d in range(len(steps))]
    return first if steps == apart and _goes_on(last, first.indices, var, 2) else None


def _goes_on(last: int, indices: Sequence[Expr], var: Var, step: int) -> bool:
    """Return whether the last index in memory grows by `step` with a variable, and no other does."""
    return [growth(index, var) for index in indices] == [
        step if d == last else 0 for d in range(len(indices))
    ]
