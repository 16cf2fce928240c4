"""Nests of tensorized loops as TIR: one call for all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragged.analysis.matrix_nests import LANES, MatrixNest
from ragged.codegen.exprs import Expressions, TirBuffer
from ragged.codegen.load_tvm import tirx
from ragged.codegen.names import identifier
from ragged.codegen.ops import MULTIPLY, RELEASE, TirExpr, TirStmt, literal
from ragged.codegen.tile_text import SHAPE_WORDS
from ragged.ir.dtype import INDEX
from ragged.ir.expr import Const, Load, Var


@dataclass(frozen=True, slots=True)
class MatrixUnit:
    """The matrix unit as a stage uses it: `shape` is its last configuration, on the stack of each worker."""

    shape: TirBuffer

    @classmethod
    def new(cls) -> MatrixUnit:
        """Return the unit of a stage."""
        shape = (SHAPE_WORDS,)
        return cls(
            tirx.decl_buffer(shape, "int64", identifier("tile_shape"), data_alignment=64, scope="local")
        )

    def begin(self) -> list[TirStmt]:
        """Return the first statements of a stage: no configuration is loaded."""
        zero = tirx.IntImm("int64", 0)
        cleared = (tirx.BufferStore(self.shape, zero, [literal(word, INDEX)]) for word in range(SHAPE_WORDS))
        return [tirx.AllocBuffer(self.shape), *cleared]

    def end(self) -> TirStmt:
        """Return what stands last in it."""
        return tirx.Evaluate(tirx.call_intrin("int32", RELEASE, self.shape.data))

    def multiply(self, nest: MatrixNest, expressions: Expressions) -> TirStmt:
        """Return a nest: its loops between rows and columns around one call."""
        with expressions.conditional():  # bindings would stand outside of these loops
            return self._multiply(nest, expressions)

    def _multiply(self, nest: MatrixNest, expressions: Expressions) -> TirStmt:
        around = []
        for loop in nest.others:
            var = tirx.Var(identifier(loop.var.name), INDEX.value)
            expressions.variables[loop.var] = var
            around.append((var, expressions.emit(loop.extent)))
        rows, columns, axis = nest.rows.var, nest.columns.var, nest.axis.var
        assert isinstance(nest.axis.extent, Const)
        steps = int(nest.axis.extent.value) // LANES
        args = [tirx.IntImm("int32", nest.tiles), self.shape.data, expressions.emit(nest.rows.extent)]
        args.append(literal(steps, INDEX))
        for load, along in ((nest.out, rows), (nest.other, rows), (nest.weight, axis)):
            first, next_one = (
                _place(nest, expressions, load, {rows: 0, columns: 0, axis: 0, along: step})
                for step in (0, 1)
            )
            args += [expressions.storage[load.buffer].data, first, next_one - first]
        done: TirStmt = tirx.Evaluate(tirx.call_intrin("int32", MULTIPLY, *args))
        for var, extent in reversed(around):
            done = tirx.For(var, literal(0, INDEX), extent, tirx.ForKind.SERIAL, done)
        return done


def _place(nest: MatrixNest, expressions: Expressions, load: Load, values: Mapping[Var, int]) -> TirExpr:
    """Return the offset of an element in its buffer, where some loops of a nest are at these iterations."""
    for var, value in values.items():
        expressions.variables[var] = literal(value, INDEX)
    for let in nest.lets:
        expressions.variables[let.var] = expressions.emit(let.value)
    return expressions.offset(load.buffer, load.indices)
