"""Loops over a vector's lanes that set, copy, or multiply and add, as TIR's vectors: most loops of a tile do.

TVM makes vectors of other loops, with an analysis that takes longer for each loop than making its vectors here. What is
read up to the end of a row, and is zero behind it, is a masked load: TVM has none.
"""

from __future__ import annotations

from ragged.analysis.masked_copies import masked_load
from ragged.arith.affine import growth
from ragged.codegen.exprs import Expressions
from ragged.codegen.load_tvm import tirx
from ragged.codegen.ops import FMA, TirExpr, TirStmt, literal
from ragged.codegen.vector_copies import load_masked
from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Buffer, Const, Expr, Fma, Load, Select, Var
from ragged.ir.stmt import For, Store
from ragged.ir.walk import mentions


def is_row_store(loop: For) -> bool:
    """Return whether a loop stores a row of elements that stand side by side, of such rows and of single elements."""
    body, lane = loop.body, loop.var
    if not isinstance(body, Store) or body.buffer.dtype not in (DType.FLOAT32, DType.FLOAT64):
        return False
    return _step(body.buffer, body.indices, lane) == 1 and _is_of_rows(body.value, body.buffer.dtype, loop)


def _is_of_rows(value: Expr, dtype: DType, loop: For) -> bool:
    match value:
        case Fma(a=a, b=b, c=c):
            return all(_is_of_rows(each, dtype, loop) for each in (a, b, c))
        case Load(buffer=buffer, indices=indices):
            return buffer.dtype is dtype and _step(buffer, indices, loop.var) in (0, 1)
        case Select():
            return masked_load(value, loop) is not None
        case _:
            return isinstance(value, Const) and value.dtype is dtype


def _step(buffer: Buffer, indices: tuple[Expr, ...], lane: Var) -> int | None:
    """Return how far the element of the next lane is from that of a lane; None if that is not known."""
    moving = [d for d, index in enumerate(indices) if mentions(index, (lane,))]
    if moving and moving != [buffer.order[-1]]:
        return None
    return growth(indices[moving[0]], lane) if moving else 0


def row_store(loop: For, expressions: Expressions) -> TirStmt:
    """Return a loop of a constant extent as one store of a vector; its body is one of which `is_row_store` is true."""
    assert isinstance(loop.body, Store) and isinstance(loop.extent, Const)
    store, lanes = loop.body, int(loop.extent.value)
    lane = (loop.var,)
    expressions.variables[loop.var] = literal(0, INDEX)

    def place(buffer: Buffer, indices: tuple[Expr, ...]) -> TirExpr:
        return tirx.Ramp(expressions.offset(buffer, indices), literal(1, INDEX), lanes)

    def vector(value: Expr) -> TirExpr:
        match value:
            case Fma(a=a, b=b, c=c):
                return tirx.call_intrin(f"{c.dtype.value}x{lanes}", FMA, *map(vector, (a, b, c)))
            case Select() if (masked := masked_load(value, loop)) is not None:
                return load_masked(masked, lanes, expressions)
            case Load(buffer=buffer, indices=indices) if mentions(value, lane):
                return tirx.BufferLoad(expressions.storage[buffer], [place(buffer, indices)])
            case _:
                return tirx.Broadcast(expressions.emit(value), lanes)

    target = expressions.storage[store.buffer]
    return tirx.BufferStore(target, vector(store.value), [place(store.buffer, store.indices)])
