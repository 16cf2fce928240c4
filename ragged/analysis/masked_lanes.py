"""Vectorized loops of which only some lanes are stored, to the end of a row, or read, inside of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from math import copysign

from ragged.analysis.faults import may_fault
from ragged.analysis.strides import is_consecutive, stepped
from ragged.arith.affine import growth
from ragged.arith.fold import ZERO
from ragged.ir.build import add, sub
from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role, Select, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import substitute
from ragged.ir.stmt import For, Store, lanes_at_most
from ragged.ir.walk import conjuncts, flat, mentions

MASKED_LANES = (4, 8, 16)
"""The lanes of vectors of which some can be loaded and stored."""


@dataclass(frozen=True, slots=True)
class LaneRange:
    """The lanes of a vector from `first` up to `count`, either of which may be any number.

    It is `guarded` if there are none where a condition of all lanes does not hold.
    """

    first: Expr
    count: Expr
    guarded: bool


@dataclass(frozen=True, slots=True)
class MaskedLoad:
    """`value[.. + lane]` of float32 for some lanes of a vector, and zero for the others."""

    value: Load
    lanes: LaneRange


def masked_load(value: Expr, loop: For) -> MaskedLoad | None:
    """Return what an expression reads in the lanes of a loop, if they are those inside of a row; else None."""
    match value:
        case Select(condition=condition, if_true=Load() as read, if_false=Const(value=0 as zero)) if (
            _is_row(read.buffer, read.indices, loop.var) and copysign(1, zero) > 0
        ):
            lanes = lane_range(condition, loop)
            if lanes is None or (lanes.guarded and any(map(may_fault, read.indices))):
                return None  # an index is read whether lanes are or not
            return MaskedLoad(read, lanes)
        case _:
            return None


def lane_range(condition: Expr, loop: For) -> LaneRange | None:
    """Return the lanes of a loop for which a condition holds; None where they are no range, or all alike."""
    if not isinstance(loop.extent, Const) or int(loop.extent.value) not in MASKED_LANES:
        return None
    uppers, lowers, guards = list[Expr](), list[Expr](), list[Expr]()
    for term in conjuncts(condition):
        if may_fault(term):
            return None
        if not mentions(term, (loop.var,)):
            guards.append(term)
        elif (upper := _upper(term, loop.var)) is not None:
            uppers.append(upper)
        elif (lower := _lower(term, loop.var)) is not None:
            lowers.append(lower)
        else:
            return None
    if not uppers and not lowers:
        return None
    first = reduce(partial(Binary, BinaryOp.MAX), lowers or [ZERO])
    count: Expr = reduce(partial(Binary, BinaryOp.MIN), uppers or [loop.extent])
    for guard in guards:
        count = Select(guard, count, ZERO)
    return LaneRange(first, count, bool(guards))


def _upper(term: Expr, lane: Var) -> Expr | None:
    """Return the number of lanes below a term's upper bound of them; None if it is none."""
    ordered = _ordered(term)
    if ordered is None:
        return None
    less, more, apart = ordered
    return _lane_of(more if apart else add(more, 1), less, lane)


def _lower(term: Expr, lane: Var) -> Expr | None:
    """Return the first lane that a term's lower bound allows; None if it is none."""
    ordered = _ordered(term)
    if ordered is None:
        return None
    less, more, apart = ordered
    return _lane_of(add(less, 1) if apart else less, more, lane)


def _ordered(term: Expr) -> tuple[Expr, Expr, bool] | None:
    """Return the lesser and the greater side of a comparison, and whether they differ; None for another term."""
    match term:
        case Binary(op=BinaryOp.LT | BinaryOp.LE as op, lhs=less, rhs=more):
            return less, more, op is BinaryOp.LT
        case Binary(op=BinaryOp.GT | BinaryOp.GE as op, lhs=more, rhs=less):
            return less, more, op is BinaryOp.GT
        case _:
            return None


def _lane_of(value: Expr, place: Expr, lane: Var) -> Expr | None:
    """Return the lane in which an index has a value; None if it does not grow by one with the lane."""
    if place.dtype is not INDEX or mentions(value, (lane,)) or growth(place, lane) != 1:
        return None
    return sub(value, substitute(place, {lane: ZERO}))


def stored_lanes(loop: For) -> int | None:
    """Return the lanes of vectors of which a vectorized loop stores the first ones; None for a loop of another form.

    It has at most so many iterations, and stores elements of float32. They may be apart, but are equally far apart.
    """
    lanes = lanes_at_most(loop)
    if isinstance(loop.extent, Const) or lanes not in MASKED_LANES:
        return None
    apart = all(
        isinstance(stmt, Store)
        and stmt.buffer.dtype is DType.FLOAT32
        and stepped(stmt.indices, loop.var) is not None
        for stmt in flat(loop.body)
    )
    return lanes if apart else None


def is_whole_row(read: Load, lane: Var, lanes: int) -> bool:
    """Return whether a load is of a row of a local buffer with so many elements: all may be read, whatever they are.

    So may the one element of a buffer without dimensions.
    """
    buffer = read.buffer
    if buffer.role is not Role.LOCAL or not read.indices:
        return buffer.role is Role.LOCAL
    last = buffer.order[-1]
    extent = buffer.shape[last]
    holds = isinstance(extent, Const) and int(extent.value) >= lanes
    return holds and read.indices[last] == Ref(lane) and _is_row(buffer, read.indices, lane)


def _is_row(buffer: Buffer, indices: tuple[Expr, ...], lane: Var) -> bool:
    """Return whether elements of float32 are consecutive as a variable goes on."""
    return buffer.dtype is DType.FLOAT32 and is_consecutive(buffer, indices, lane)
