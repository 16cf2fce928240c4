"""Reductions of a node's features to one number, in lanes: partial results side by side, in one order everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cortex.ra import expr as ra
from cortex.ra.lower.saved_reduction import free_axes
from ragged.arith.fold import plus, times
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Var
from ragged.ir.ops import Combiner
from ragged.ir.stmt import For, Label, Reduce, Stmt, Store, block

LANES = 16
"""Partial results of a reduction. It says the order, and so does not follow the machine."""

Element = tuple[Buffer, tuple[Expr, ...]]


def is_in_lanes(reduction: ra.Reduction) -> bool:
    """Return whether a reduction has partial results in lanes: one that depends on no other dense index.

    One number after another would wait for the result before it. Where a dense index remains, its elements are the
    lanes; integers may be reduced in any order, and LLVM does it in vectors itself.
    """
    return (
        isinstance(reduction, ra.DenseReduce)
        and reduction.dtype.is_float
        and reduction.index.extent >= 2 * LANES
        and not any(isinstance(axis, ra.IndexVar) for axis in free_axes(reduction))
    )


def lane_nests(
    reduction: ra.DenseReduce,
    result: Element,
    lane: Callable[[Expr], Element],
    value: Callable[[Expr], Expr],
) -> Stmt:
    """Return the statements that reduce the values at all indices to the `result`.

    Lane i combines those at i, i + LANES, ...; then the lanes are combined in pairs; then comes what fills no row of
    lanes, one after another.
    """
    combiner, at = reduction.combiner, reduction.at
    start = Const(combiner.identity, reduction.dtype)
    count, left = divmod(reduction.index.extent, LANES)
    row, rest = Var(reduction.index.name), Var(reduction.index.name)
    first, each = Var("lane"), Var("lane")
    init = Store(_label(lane(Ref(first))), *lane(Ref(first)), start, at)
    own, place = lane(Ref(each)), plus(times(Ref(row), Const(LANES)), Ref(each))
    update = Reduce(_label(own), *own, combiner, value(place), (row,), start, at)
    whole = _in_pairs(combiner, [Load(*lane(Const(i))) for i in range(LANES)])
    last = value(plus(Const(count * LANES), Ref(rest)))
    added = Reduce(_label(result), *result, combiner, last, (rest,), whole, at)
    return block(
        For(first, Const(LANES), init),
        For(row, Const(count), For(each, Const(LANES), update)),
        Store(_label(result), *result, whole, at),
        *((For(rest, Const(left), added),) if left else ()),
    )


def _label(element: Element) -> Label:
    return Label(element[0].name)


def _in_pairs(combiner: Combiner, parts: Sequence[Expr]) -> Expr:
    """Return all parts combined: the first half's element i with the second half's, until one is left."""
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [Binary(combiner.op, *pair) for pair in zip(parts[:half], parts[half:], strict=True)]
    return parts[0]
