"""Loops over a vector's lanes that store rows of elements, computed of rows and single elements, as TIR's vectors.

Most loops of tiles and of elementwise operators are. TVM makes vectors of other loops, with an analysis that takes
longer for each loop than making its vectors here. What is read inside of a row, where others are zero or take another
value, is a masked load: TVM has none, and would run one lane after another.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ragged.analysis.faults import may_fault
from ragged.analysis.masked_lanes import (
    LaneRange,
    MaskedLoad,
    is_whole_row,
    lane_range,
    masked_load,
    stored_lanes,
)
from ragged.arith.affine import growth
from ragged.arith.fold import ZERO
from ragged.codegen.exprs import Expressions
from ragged.codegen.load_tvm import tirx
from ragged.codegen.ops import FMA, MAX, MIN, MUL, TirExpr, TirStmt, elementary_name, literal
from ragged.codegen.vector_copies import load_masked, store_masked
from ragged.errors import InternalError
from ragged.ir.dtype import INDEX, DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import Binary, Buffer, Const, Expr, Fma, Load, Ref, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.stmt import For, Store, lanes_at_most
from ragged.ir.walk import flat, mentions, subexpressions

_PLAIN = frozenset({BinaryOp.ADD, BinaryOp.SUB, BinaryOp.DIV})
_NAMED = {BinaryOp.MUL: MUL, BinaryOp.MAX: MAX, BinaryOp.MIN: MIN}


def stores_rows(loop: For) -> bool:
    """Return whether each statement of a loop stores a row of elements that stand side by side.

    They are computed of such rows, and of single elements.
    """
    return all(isinstance(stmt, Store) and _is_row_store(stmt, loop) for stmt in flat(loop.body))


def _is_row_store(store: Store, loop: For) -> bool:
    if store.buffer.dtype not in (DType.FLOAT32, DType.FLOAT64):
        return False
    side_by_side = _step(store.buffer, store.indices, loop.var) == 1
    return side_by_side and _is_of_rows(store.value, store.buffer.dtype, loop)


def _is_of_rows(value: Expr, dtype: DType, loop: For) -> bool:
    if value.dtype is not dtype:
        return False
    match value:
        case Fma(a=a, b=b, c=c):
            return all(_is_of_rows(each, dtype, loop) for each in (a, b, c))
        case Binary(op=op, lhs=lhs, rhs=rhs) if op in _PLAIN or op in _NAMED:
            return all(_is_of_rows(each, dtype, loop) for each in (lhs, rhs))
        case Unary(op=Elementwise() | UnaryOp.NEG, operand=operand):
            return _is_of_rows(operand, dtype, loop)
        case Load(buffer=buffer, indices=indices):
            return _step(buffer, indices, loop.var) in (0, 1)
        case Select() if masked_load(value, loop) is not None:
            return True
        case Select():
            return _is_choice_of_rows(value, dtype, loop) or _is_choice_by_rows(value, dtype, loop)
        case Ref(var=var):
            return var is not loop.var
        case _:
            return isinstance(value, Const)


def _is_choice_of_rows(value: Select, dtype: DType, loop: For) -> bool:
    """Return whether lanes in one range have one value and all others another, which reads nothing else.

    What the one value alone reads has no index that is read itself: that would be read for all lanes.
    """
    arms = (value.if_true, value.if_false)
    if dtype is not DType.FLOAT32 or lane_range(value.condition, loop) is None:
        return False
    if any(isinstance(part, Select) for arm in arms for part in subexpressions(arm)):
        return False
    everywhere, read = _loads(arms[1]), _loads(arms[0])
    masked = (index for load in read - everywhere for index in load.indices)
    rows = all(_is_of_rows(arm, dtype, loop) for arm in arms)
    return rows and everywhere <= read and not any(map(may_fault, masked))


def _is_choice_by_rows(value: Select, dtype: DType, loop: For) -> bool:
    """Return whether a comparison of rows decides in each lane between two rows, which may both be read in all lanes.

    Elements that one is chosen by are read anyway, and others at their indices in buffers as large, and local rows.
    """
    match value.condition:
        case Binary(op=op, lhs=lhs, rhs=rhs) if op.is_comparison and lhs.dtype in (
            DType.FLOAT32,
            DType.FLOAT64,
        ):
            compared = _loads(value.condition)
            rows = all(_is_of_rows(each, each.dtype, loop) for each in (lhs, rhs))
        case _:
            return False
    arms = (value.if_true, value.if_false)
    if any(isinstance(part, Select) for each in (lhs, rhs, *arms) for part in subexpressions(each)):
        return False
    read = {(each.buffer.shape, each.indices) for each in compared}
    return (
        rows
        and all(_is_of_rows(arm, dtype, loop) for arm in arms)
        and all(
            (each.buffer.shape, each.indices) in read
            for arm in arms
            for each in _loads(arm) - _whole_rows(arm, loop, lanes_at_most(loop))
        )
    )


def _loads(value: Expr) -> AbstractSet[Load]:
    return {part for part in subexpressions(value) if isinstance(part, Load)}


def _step(buffer: Buffer, indices: tuple[Expr, ...], lane: Var) -> int | None:
    """Return how far the element of the next lane is from that of a lane; None if that is not known."""
    moving = [d for d, index in enumerate(indices) if mentions(index, (lane,))]
    if moving and moving != [buffer.order[-1]]:
        return None
    return growth(indices[moving[0]], lane) if moving else 0


def row_stores(loop: For, expressions: Expressions) -> list[TirStmt]:
    """Return a loop of a constant extent as one store of a vector for each of its statements; see `stores_rows`."""
    expressions.variables[loop.var] = literal(0, INDEX)
    assert isinstance(loop.extent, Const), "the loop stores rows"
    rows = _Rows(loop, int(loop.extent.value), expressions)
    return [rows.store(stmt) for stmt in flat(loop.body) if isinstance(stmt, Store)]


def stores_some_lanes(loop: For) -> bool:
    """Return whether a loop stores the first lanes of vectors, computed of rows and of single elements.

    Elements of what is not a whole row of a local buffer are read in these lanes alone, at indices that are not read.
    """
    lanes = stored_lanes(loop)
    return lanes is not None and all(
        _is_of_rows(stmt.value, DType.FLOAT32, loop)
        and not any(
            may_fault(index)
            for load in _loads(stmt.value) - _whole_rows(stmt.value, loop, lanes)
            for index in load.indices
        )
        for stmt in flat(loop.body)
        if isinstance(stmt, Store)
    )


def _whole_rows(value: Expr, loop: For, lanes: int | None) -> AbstractSet[Load]:
    """Return the loads in a value that may be of all lanes, whether a loop has as many iterations or not."""
    return {each for each in _loads(value) if lanes is not None and is_whole_row(each, loop.var, lanes)}


def masked_row_stores(loop: For, expressions: Expressions) -> list[TirStmt]:
    """Return a loop of at most so many iterations as a masked store for each statement; see `stores_some_lanes`."""
    lanes = stored_lanes(loop)
    assert lanes is not None, "the loop stores some lanes"
    expressions.variables[loop.var] = literal(0, INDEX)
    stored, some = list[TirStmt](), LaneRange(ZERO, loop.extent, guarded=False)
    for stmt in flat(loop.body):
        assert isinstance(stmt, Store), "the loop stores some lanes"
        rows = _Rows(loop, lanes, expressions, some, _whole_rows(stmt.value, loop, lanes))
        stored.append(store_masked(stmt, rows.vector(stmt.value), loop, expressions))
    return stored


@dataclass(slots=True)
class _Rows:
    """Makes vectors of the values of a loop.

    In a choice, `chosen` are the lanes that take the first value, of a masked store those that are stored; they alone
    read what is not in `everywhere`.
    """

    loop: For
    lanes: int
    expressions: Expressions
    chosen: LaneRange | None = None
    everywhere: AbstractSet[Load] = frozenset()

    def store(self, stmt: Store) -> TirStmt:
        target = self.expressions.storage[stmt.buffer]
        return tirx.BufferStore(target, self.vector(stmt.value), [self.place(stmt.buffer, stmt.indices)])

    def place(self, buffer: Buffer, indices: tuple[Expr, ...]) -> TirExpr:
        return tirx.Ramp(self.expressions.offset(buffer, indices), literal(1, INDEX), self.lanes)

    def vector(self, value: Expr) -> TirExpr:
        dtype = f"{value.dtype.value}x{self.lanes}"
        match value:
            case Fma(a=a, b=b, c=c):
                return tirx.call_intrin(dtype, FMA, *map(self.vector, (a, b, c)))
            case Select() if (masked := masked_load(value, self.loop)) is not None:
                return load_masked(masked, self.lanes, self.expressions)
            case Select() if lane_range(value.condition, self.loop) is not None:
                return self.choice(value)
            case Select(condition=Binary(op=op, lhs=lhs, rhs=rhs)):
                chosen = self.expressions.combine(op, self.vector(lhs), self.vector(rhs), lhs.dtype)
                return tirx.Select(chosen, self.vector(value.if_true), self.vector(value.if_false))
            case Load() if self.chosen is not None and value not in self.everywhere:
                return self.chosen_load(value, self.chosen)
            case _ if not mentions(value, (self.loop.var,)) and self.is_read_everywhere(value):
                return tirx.Broadcast(self.expressions.emit(value), self.lanes)
            case Load(buffer=buffer, indices=indices):
                return tirx.BufferLoad(self.expressions.storage[buffer], [self.place(buffer, indices)])
            case Binary(op=op, lhs=lhs, rhs=rhs) if op in _PLAIN:
                return self.expressions.combine(op, self.vector(lhs), self.vector(rhs), value.dtype)
            case Binary(op=op, lhs=lhs, rhs=rhs):
                return tirx.call_intrin(dtype, _NAMED[op], self.vector(lhs), self.vector(rhs))
            case Unary(op=Elementwise() as op, operand=operand):
                return tirx.call_intrin(dtype, elementary_name(op), self.vector(operand))
            case Unary(operand=operand):
                zero = tirx.Broadcast(literal(-0.0, value.dtype), self.lanes)
                return tirx.Sub(zero, self.vector(operand))
            case _:
                raise InternalError(f"no row: {value}")

    def is_read_everywhere(self, value: Expr) -> bool:
        return self.chosen is None or _loads(value) <= self.everywhere

    def choice(self, value: Select) -> TirExpr:
        """Return a choice between two values by the number of the lane."""
        chosen = lane_range(value.condition, self.loop)
        assert chosen is not None, "the loop stores rows"
        other = self.vector(value.if_false)
        self.chosen, self.everywhere = chosen, _loads(value.if_false)
        one = self.vector(value.if_true)
        self.chosen = None
        number = tirx.Ramp(_word(0), _word(1), self.lanes)
        first, end = (self.end_of(each) for each in (chosen.first, chosen.count))
        return tirx.Select(tirx.And(tirx.GE(number, first), tirx.LT(number, end)), one, other)

    def end_of(self, lane: Expr) -> TirExpr:
        """Return a number of a lane as a vector of int32, none of which is below 0 or above the number of lanes."""
        emitted, most = self.expressions.emit(lane), literal(self.lanes, INDEX)
        near = tirx.Max(tirx.Min(emitted, most), literal(0, INDEX))
        return tirx.Broadcast(tirx.Cast("int32", near), self.lanes)

    def chosen_load(self, load: Load, chosen: LaneRange) -> TirExpr:
        """Return what the chosen lanes read, and zeros in others."""
        if mentions(load, (self.loop.var,)):
            return load_masked(MaskedLoad(load, chosen), self.lanes, self.expressions)
        some = tirx.LT(*(self.expressions.emit(each) for each in (chosen.first, chosen.count)))
        with self.expressions.conditional():
            element = self.expressions.emit(load)
        return tirx.Broadcast(tirx.if_then_else(some, element, literal(0.0, load.dtype)), self.lanes)


def _word(value: int) -> TirExpr:
    return literal(value, DType.INT32)
