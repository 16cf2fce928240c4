"""Moves of whole vectors as TIR: tiles that are transposed, rows of pairs, and some lanes of vectors."""

from __future__ import annotations

from ragged.analysis.masked_lanes import MaskedLoad
from ragged.analysis.row_pairs import pair_row
from ragged.analysis.strides import is_consecutive
from ragged.analysis.transposed_tiles import TransposedTile
from ragged.codegen.exprs import Expressions
from ragged.codegen.load_tvm import tirx
from ragged.codegen.ops import (
    MASKED_LOAD,
    MASKED_SCATTER,
    MASKED_STORE,
    PAIRED,
    PAIRS,
    TRANSPOSE,
    TirExpr,
    TirStmt,
    literal,
)
from ragged.ir.dtype import INDEX
from ragged.ir.expr import Const
from ragged.ir.stmt import For, Store


def pair_row_of(loop: For, expressions: Expressions) -> TirStmt | None:
    """Return a loop that makes pairs of elements side by side as one load and one store; else None."""
    lanes, store = loop.extent, loop.body
    first = pair_row(store, loop.var)
    if first is None or not isinstance(lanes, Const) or lanes.value not in PAIRED:
        return None
    assert isinstance(store, Store)
    count = int(lanes.value)
    expressions.variables[loop.var] = literal(0, INDEX)
    one = literal(1, INDEX)
    read = tirx.Ramp(expressions.offset(first.buffer, first.indices), one, 2 * count)
    write = tirx.Ramp(expressions.offset(store.buffer, store.indices), one, count)
    elements = tirx.BufferLoad(expressions.storage[first.buffer], [read])
    pairs = tirx.call_intrin(f"float32x{count}", PAIRS, elements)
    return tirx.BufferStore(expressions.storage[store.buffer], pairs, [write])


def store_masked(store: Store, elements: TirExpr, loop: For, expressions: Expressions) -> TirStmt:
    """Return a store of as many elements of a vector as a loop has iterations; its variable stands for lane 0."""
    buffer, lane = store.buffer, loop.var
    write, count = expressions.offset(buffer, store.indices), expressions.emit(loop.extent)
    address = tirx.address_of(tirx.BufferLoad(expressions.storage[buffer], [write]))
    if is_consecutive(buffer, store.indices, lane):
        return tirx.Evaluate(tirx.call_intrin("int32", MASKED_STORE, address, elements, count))
    first, expressions.variables[lane] = expressions.variables[lane], literal(1, INDEX)
    stride = expressions.offset(buffer, store.indices) - write
    expressions.variables[lane] = first
    return tirx.Evaluate(tirx.call_intrin("int32", MASKED_SCATTER, address, elements, count, stride))


def load_masked(load: MaskedLoad, lanes: int, expressions: Expressions) -> TirExpr:
    """Return a vector of elements of a row, from lane 0 on, which the loop's variable stands for."""
    place = expressions.offset(load.value.buffer, load.value.indices)
    address = tirx.address_of(tirx.BufferLoad(expressions.storage[load.value.buffer], [place]))
    first, count = expressions.emit(load.lanes.first), expressions.emit(load.lanes.count)
    return tirx.call_intrin(f"float32x{lanes}", MASKED_LOAD, address, first, count)


def transposed(tile: TransposedTile, expressions: Expressions) -> TirStmt:
    """Return a nest that transposes a tile as vectors: loads of its rows, and stores of its columns."""
    storage, variables = expressions.storage, expressions.variables
    stored = expressions.emit(tile.stored)
    variables[tile.row] = variables[tile.column] = literal(0, INDEX)
    first = expressions.offset(tile.out.buffer, tile.out.indices)
    variables[tile.row] = literal(1, INDEX)
    stride = expressions.offset(tile.out.buffer, tile.out.indices) - first
    variables[tile.row] = literal(0, INDEX)
    rows: list[TirExpr] = []
    for column in range(tile.columns):
        variables[tile.column] = literal(column, INDEX)
        place = expressions.offset(tile.rows.buffer, tile.rows.indices)
        rows.append(
            tirx.BufferLoad(storage[tile.rows.buffer], [tirx.Ramp(place, literal(1, INDEX), tile.lanes)])
        )
    address = tirx.address_of(tirx.BufferLoad(storage[tile.out.buffer], [first]))
    return tirx.Evaluate(tirx.call_intrin("int32", TRANSPOSE, address, stride, stored, *rows))
