"""Vectorized loops that copy only the first lanes of a vector: stores to the end of a row, and loads from there."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.arith.affine import growth
from ragged.arith.fold import ZERO
from ragged.ir.build import sub
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role, Select, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import substitute
from ragged.ir.stmt import For, Store
from ragged.ir.walk import mentions

MASKED_LANES = (4, 8, 16)
"""The lanes of vectors of which the first ones can be loaded and stored."""


@dataclass(frozen=True, slots=True)
class MaskedCopy:
    """`out[.. + lane] = value[.. + lane]` of float32, for the first `count` of `lanes` lanes.

    Those behind are left as they are if `stores` is set; else they become zero, and `value` is not read there. Elements
    of `out` need not be `contiguous` then, but are equally far apart.
    """

    lanes: int
    count: Expr
    out: Store
    value: Load
    stores: bool
    contiguous: bool = True


@dataclass(frozen=True, slots=True)
class MaskedLoad:
    """`value[.. + lane]` of float32 for the first `count` lanes of a vector, and zero for the others."""

    value: Load
    count: Expr


def masked_load(value: Expr, loop: For) -> MaskedLoad | None:
    """Return what an expression reads in the lanes of a loop, if that is the first elements of a row; else None."""
    match loop.extent, value:
        case Const(value=lanes), Select(
            condition=Binary(op=BinaryOp.LT, lhs=place, rhs=end),
            if_true=Load() as read,
            if_false=Const(value=0),
        ) if int(lanes) in MASKED_LANES:
            ends = growth(place, loop.var) == 1 and not mentions(end, (loop.var,))
            if ends and _is_row(read.buffer, read.indices, loop.var):
                return MaskedLoad(read, sub(end, substitute(place, {loop.var: ZERO})))
        case _:
            pass
    return None


def masked_copy(loop: For) -> MaskedCopy | None:
    """Return what a vectorized loop copies; None for a loop of any other form."""
    store = loop.body
    if not isinstance(store, Store) or store.buffer.dtype is not DType.FLOAT32:
        return None
    contiguous = _is_row(store.buffer, store.indices, loop.var)
    match loop.extent, store.value:
        case Binary(op=BinaryOp.MIN, rhs=Const(value=lanes)), Load() as value if int(lanes) in MASKED_LANES:
            whole = value.indices[value.buffer.order[-1]] == Ref(loop.var) and _holds(
                value.buffer, int(lanes)
            )
            steps = [growth(index, loop.var) for index in store.indices]
            apart = steps.count(1) == 1 and steps.count(0) == len(steps) - 1
            if whole and apart and _is_row(value.buffer, value.indices, loop.var):
                return MaskedCopy(int(lanes), loop.extent, store, value, stores=True, contiguous=contiguous)
        case Const(value=lanes), Select() if contiguous:
            found = masked_load(store.value, loop)
            if found is not None:
                return MaskedCopy(int(lanes), found.count, store, found.value, stores=False)
        case _:
            pass
    return None


def _holds(buffer: Buffer, lanes: int) -> bool:
    """Return whether each row of a local buffer has so many elements: all may be read, whatever they are."""
    extent = buffer.shape[buffer.order[-1]]
    return buffer.role is Role.LOCAL and isinstance(extent, Const) and int(extent.value) >= lanes


def _is_row(buffer: Buffer, indices: tuple[Expr, ...], lane: Var) -> bool:
    """Return whether elements of float32 are consecutive as a variable goes on."""
    if buffer.dtype is not DType.FLOAT32 or not indices:
        return False
    last = buffer.order[-1]
    return [growth(index, lane) for index in indices] == [1 if d == last else 0 for d in range(len(indices))]
