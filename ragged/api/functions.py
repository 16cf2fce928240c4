"""The functions of the Ragged API: elementwise ones, and reductions.

`sum_`, `max_`, `min_` and `abs_` are called `ragged.sum`, `ragged.max`, `ragged.min` and `ragged.abs`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from ragged.api.reductions import reduction
from ragged.api.values import Value, ValueLike, select, unary
from ragged.api.values import binary as _binary
from ragged.ir.elementwise import front_end_function
from ragged.ir.ops import BinaryOp, Combiner, UnaryOp


def abs_(x: ValueLike) -> Value:
    """Return the absolute value, of an integer as an integer."""
    return unary(UnaryOp.ABS, x)


def maximum(x: ValueLike, y: ValueLike) -> Value:
    """Return the larger of two values; NaN if one is NaN."""
    return _binary(BinaryOp.MAX, x, y)


def minimum(x: ValueLike, y: ValueLike) -> Value:
    """Return the smaller of two values; NaN if one is NaN."""
    return _binary(BinaryOp.MIN, x, y)


if TYPE_CHECKING:
    from ragged.api.elementwise import *  # noqa: F403
else:

    def __getattr__(name: str) -> Callable[..., Value]:
        """Return the elementwise function `name` of the table."""
        return front_end_function(sys.modules[__name__], name, unary)


def where(condition: ValueLike, if_true: ValueLike, if_false: ValueLike) -> Value:
    """Return `if_true` where the condition holds, else `if_false`; only the one taken is evaluated.

    Example:
        >>> causal = where(u <= t, scores[b, t, u], 0.0)
    """
    return select(condition, if_true, if_false)


def sum_(
    extent: ValueLike | tuple[ValueLike, ...],
    function: Callable[..., ValueLike],
    *,
    init: ValueLike | None = None,
) -> Value:
    """Return the sum of `function(j)` over 0 <= j < extent, in this order; over several extents, the last innermost.

    The extent may depend on the indices in scope: a reduction over a variable loop. A dimension stands for its extent
    in the tensors that `function` reads along it. The sum starts from `init`, or from 0.

    Example:
        >>> mean = compute("mean", [rows, wide], lambda b, w: sum_(n(b), lambda t: x[b, t, w]) / n(b))
    """
    return reduction(Combiner.SUM, extent, function, init)


def prod_(
    extent: ValueLike | tuple[ValueLike, ...],
    function: Callable[..., ValueLike],
    *,
    init: ValueLike | None = None,
) -> Value:
    """Return the product of `function(j)` over 0 <= j < extent, from `init` or 1; as `sum_` in all else."""
    return reduction(Combiner.PROD, extent, function, init)


def max_(
    extent: ValueLike | tuple[ValueLike, ...],
    function: Callable[..., ValueLike],
    *,
    init: ValueLike | None = None,
) -> Value:
    """Return the largest `function(j)` over 0 <= j < extent, and `init`; minus infinity of none, NaN if one is NaN."""
    return reduction(Combiner.MAX, extent, function, init)


def min_(
    extent: ValueLike | tuple[ValueLike, ...],
    function: Callable[..., ValueLike],
    *,
    init: ValueLike | None = None,
) -> Value:
    """Return the smallest of `function(j)` over 0 <= j < extent and `init`; infinity of none, NaN if one is NaN."""
    return reduction(Combiner.MIN, extent, function, init)
