"""Rows of a tensor, in vectors: a reduction as partial ones side by side, and loops over rows of any length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import ragged
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import DimLike, RaggedTensor
from ragged.api.values import Value, lift
from ragged.errors import ScheduleError
from ragged.transform.loops.split import Tail

LANES = 16
"""Partial results of a row of unknown extent: as many as the largest vectors have floats.

This number, `WIDEST` and `_FOLDED` are the order of a sum, and so the bits of a result: the same on all machines, some
of which compute them in several vectors.
"""
WIDEST = 64
"""The most partial results of a row: enough for several vectors to be under way at once."""
_FOLDED = (16, 4)
"""Partial results that are left when those of several vectors are put together, and then those of one.

One after another they would wait for each other, sixteen of them longer than a row of 512 takes.
"""

Reduce = Callable[[Value | int, Callable[[Value], Value]], Value]
"""`ragged.sum` or `ragged.max`, of one extent."""


@dataclass(frozen=True, slots=True)
class RowReduction:
    """A row's `result`, and the tensors that are computed for it, each before those that it reads."""

    result: RaggedTensor
    parts: tuple[RaggedTensor, ...]


def lanes_of(extent: Value | int) -> int:
    """Return how many partial results a row of a known or unknown extent has; 1 if it is no vector long.

    What is left over at a row's end is added one by one: many lanes are worth it only for few left over.
    """
    known = known_extent(extent)
    if known is None:
        return LANES
    fitting = [lanes for lanes in (WIDEST, 48, 32, LANES, 8) if lanes <= known]
    return min(fitting, key=lambda lanes: known // lanes * -(-lanes // LANES) + known % lanes, default=1)


def known_extent(extent: Value | int) -> int | None:
    """Return an extent that is a number, None of one that is known at the call only."""
    text = lift(extent).text()
    return int(text) if text.isdecimal() else None


def reduce_rows(
    name: str,
    rows: Sequence[DimLike],
    extent: Value | int,
    read: Callable[..., Value],
    reduce: Reduce = ragged.sum,
    then: Callable[[Value], Value] = lambda x: x,
    dtype: str | None = None,
) -> RowReduction:
    """Compute `then(reduce(extent, read(*row, j)))` for each row, from partial reductions of the elements of a lane.

    `read` gives the element at a row's indices and the place in it. `dtype` is that of the result, None for what it is
    computed in.
    """
    lanes = lanes_of(extent)
    if lanes == 1:
        return RowReduction(
            ragged.compute(name, rows, lambda *at: then(reduce(extent, lambda j: read(*at, j))), dtype), ()
        )
    whole, rest = lift(extent) // lanes, lift(extent) % lanes
    known = known_extent(extent)
    if known is not None:
        whole, rest = lift(known // lanes), lift(known % lanes)
    first = lanes
    sides = [
        ragged.compute(
            f"{name}_lanes",
            [*rows, (ragged.dim("lane"), first)],
            lambda *at: reduce(whole, lambda j: read(*at[:-1], j * first + at[-1])),
        )
    ]
    for fewer in (each for each in _FOLDED if each < first):
        sides.append(_folded(name, rows, sides[-1], lanes, fewer, reduce))
        lanes = fewer

    def total(*at: Value) -> Value:
        both = reduce(lanes, lambda k: sides[-1][(*at, k)])
        if known is None or known % first:
            ends = reduce(rest, lambda k: read(*at, whole * first + k))
            both = ragged.maximum(both, ends) if reduce is ragged.max else both + ends
        return then(both)

    return RowReduction(ragged.compute(name, rows, total, dtype), tuple(reversed(sides)))


def _folded(
    name: str, rows: Sequence[DimLike], side: RaggedTensor, lanes: int, fewer: int, reduce: Reduce
) -> RaggedTensor:
    """Combine the partial results of each row to `fewer` lanes: lane i reduces those at i, i + `fewer`, ..."""
    return ragged.compute(
        f"{name}_{fewer}",
        [*rows, (ragged.dim("lane"), fewer)],
        lambda *at: reduce(lanes // fewer, lambda j: side[(*at[:-1], j * fewer + at[-1])]),
    )


def fuse_rows(s: RaggedSchedule, *tensors: RaggedTensor) -> None:
    """Fuse the loops over the batch and over the rows of each tensor, so that workers have equal numbers of rows.

    The loops stay as they are where `fuse_loops` refuses: something else is computed between them.
    """
    for tensor in tensors:
        with suppress(ScheduleError):
            s.fuse_loops(tensor.loops[0], tensor.loops[1])


def fuse_vectors(s: RaggedSchedule, tensor: RaggedTensor, *, flat: bool, lanes: int) -> None:
    """Schedule the loops of an elementwise operator for equal shares of workers and full vectors, of so many `lanes`.

    The last dimension may vary. With `flat` all operands have the layout of the result: then one loop runs over the
    elements of all rows.
    """
    if known_extent(tensor.dims[-1].extent) is not None:
        if len(tensor.dims) > 2:
            fuse_rows(s, tensor)
    elif flat and len(tensor.dims) == 2:
        fused = s.fuse_loops(tensor.loops[0], tensor.loops[1])
        s.vectorize(s.split_loop(fused, lanes, Tail.PEEL)[1])
    elif len(tensor.dims) > 2:
        fuse_rows(s, tensor)
