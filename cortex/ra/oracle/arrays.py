"""Array operations of the oracle: values with one axis for each dense index in scope."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragged.errors import DataError
from ragged.ir.elementwise import Elementwise
from ragged.ir.ops import BinaryOp, UnaryOp

Value: TypeAlias = Any
"""A number, or an array with an axis for each index in scope, of the index's extent or 1."""

_UNARY: dict[UnaryOp, Callable[[Value], Value]] = {
    UnaryOp.NEG: operator.neg,
    UnaryOp.NOT: np.logical_not,
    UnaryOp.ABS: np.abs,
}


def unary(op: UnaryOp | Elementwise) -> Callable[[Value], Value]:
    """Return an operator of one operand."""
    return op.numpy if isinstance(op, Elementwise) else _UNARY[op]


BINARY: dict[BinaryOp, Callable[[Value, Value], Value]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.DIV: np.true_divide,
    BinaryOp.FLOORDIV: operator.floordiv,
    BinaryOp.MOD: operator.mod,
    BinaryOp.MIN: np.minimum,
    BinaryOp.MAX: np.maximum,
    BinaryOp.EQ: operator.eq,
    BinaryOp.NE: operator.ne,
    BinaryOp.LT: operator.lt,
    BinaryOp.LE: operator.le,
    BinaryOp.GT: operator.gt,
    BinaryOp.GE: operator.ge,
    BinaryOp.AND: np.logical_and,
    BinaryOp.OR: np.logical_or,
}

_GRID = 1 << 18
"""The largest product, in elements, that is written out before it is summed; larger ones are contracted."""


@lru_cache(maxsize=1024)
def index(extent: int, axis: int, depth: int) -> NDArray[np.int64]:
    """Return 0 .. extent - 1 along `axis` of `depth` axes."""
    shape = [1] * depth
    shape[axis] = extent
    return np.arange(extent, dtype=np.int64).reshape(shape)


def total(value: Value, depth: int, extent: int) -> Value:
    """Return the sum over the last of `depth` axes, which has `extent` elements, or 1 for all the same."""
    if np.ndim(value) < depth:
        return value * extent
    return value.sum(-1) if value.shape[-1] == extent else value[..., 0] * extent


def largest(value: Value, depth: int) -> Value:
    """Return the largest along the last of `depth` axes."""
    return value if np.ndim(value) < depth else value.max(-1)


def dot(lhs: Value, rhs: Value, depth: int, extent: int) -> Value:
    """Return the sum of lhs * rhs over the last of `depth` axes."""
    grid = np.broadcast_shapes(np.shape(lhs), np.shape(rhs))
    if np.ndim(lhs) < depth or np.ndim(rhs) < depth or np.prod(grid) <= _GRID:
        return total(lhs * rhs, depth, extent)
    shape = (*grid[:-1], extent)
    axes = {axis for axis in range(depth) if shape[axis] > 1}
    operands: list[Any] = []
    for value in (lhs, rhs):
        own = [axis for axis in range(depth) if value.shape[axis] > 1]
        operands += [value.reshape([value.shape[axis] for axis in own]), own]
    kept = sorted(axes - {depth - 1})
    scale = extent if all(value.shape[-1] == 1 for value in (lhs, rhs)) else 1
    return scale * np.einsum(*operands, kept, optimize=True).reshape(shape[:-1])


def inside(place: Value, extent: int, mask: NDArray[np.bool_] | None, text: str) -> Value:
    """Return an index below `extent`, checked where it is needed and 0 elsewhere."""
    outside = (np.asarray(place) < 0) | (np.asarray(place) >= extent)
    if not outside.any():
        return place
    needed = outside if mask is None else outside & mask
    if needed.any():
        worst = np.broadcast_to(place, needed.shape)[needed][0]
        raise DataError(
            f"evaluate: '{text}': index {worst} is outside of {extent} elements",
            because="here structures are taken as they are given; it is the linearizer that checks payloads",
            fix="give every node a payload inside of the tables that it indexes",
        )
    return np.where(outside, 0, place)


def divisor(value: Value, mask: NDArray[np.bool_] | None, text: str) -> Value:
    """Return an integer divisor, checked to be nonzero where it is needed and 1 elsewhere."""
    zero = np.asarray(value) == 0
    if not zero.any():
        return value
    if (zero if mask is None else zero & mask).any():
        raise DataError(f"evaluate: '{text}' divides by 0", fix="ra.where(divisor != 0, ..., ...)")
    return np.where(zero, 1, value)


def take(base: NDArray[Any], places: Sequence[Value], extents: Sequence[int | None], depth: int) -> Value:
    """Return base[places] in a scope of `depth` axes.

    A place is the axis of an index where `extents` gives that index's extent, or a value where it is None.
    """
    if base.shape == tuple(extents) and list(places) == list(range(depth)):
        return base
    cut = tuple(
        slice(extent)
        if extent is not None
        else int(np.asarray(place).item())
        if np.size(place) == 1
        else slice(None)
        for place, extent in zip(places, extents, strict=True)
    )
    base = base[cut]
    left = [(p, e) for p, e, c in zip(places, extents, cut, strict=True) if isinstance(c, slice)]
    axes = [place for place, extent in left if extent is not None]
    if len(axes) == len(left) == len(set(axes)):
        order = sorted(range(len(axes)), key=axes.__getitem__)
        spread = tuple(slice(None) if axis in axes else None for axis in range(depth))
        return base.transpose(order)[spread] if depth else base[()]
    return base[tuple(p if e is None else index(e, p, depth) for p, e in left)]
