"""Halide: each function statement by statement, scheduled by its autoscheduler Adams2019 for a row's sizes.

The schedule depends on the machine's parallelism alone; its search is what the library ships, without measuring.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import halide as hl
import numpy as np

from bench.peers.tc.peer import Call, TcPeer
from bench.tc.workloads import Operands, Workload, texts
from ragged.arith.index_intervals import value_of
from ragged.ir import expr as ir
from ragged.ir.dtype import DType
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import subexpressions
from ragged.tc.checked import CheckedFunction, CheckedStatement, TensorVersion

_TYPES = {
    DType.FLOAT32: hl.Float(32),
    DType.INT32: hl.Int(32),
    DType.INT64: hl.Int(32),
    DType.BOOL: hl.Bool(),
}
"""Indices are 32-bit integers in Halide."""
_BINARY = {
    BinaryOp.ADD: lambda a, b: a + b,
    BinaryOp.SUB: lambda a, b: a - b,
    BinaryOp.MUL: lambda a, b: a * b,
    BinaryOp.DIV: lambda a, b: a / b,
    BinaryOp.FLOORDIV: lambda a, b: a // b,
    BinaryOp.MOD: lambda a, b: a % b,
    BinaryOp.MIN: hl.min,
    BinaryOp.MAX: hl.max,
    BinaryOp.EQ: lambda a, b: a == b,
    BinaryOp.NE: lambda a, b: a != b,
    BinaryOp.LT: lambda a, b: a < b,
    BinaryOp.LE: lambda a, b: a <= b,
    BinaryOp.GT: lambda a, b: a > b,
    BinaryOp.GE: lambda a, b: a >= b,
    BinaryOp.AND: lambda a, b: a & b,
    BinaryOp.OR: lambda a, b: a | b,
}
_FUNCTIONS = {
    "exp": hl.exp,
    "tanh": hl.tanh,
    "rsqrt": lambda x: 1 / hl.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + hl.exp(-x)),
}


class Measured(TcPeer):
    """A pipeline for each row. Images have their innermost dimension first, as arrays of C order have it last."""

    functions = frozenset(texts())

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        os.environ["HL_NUM_THREADS"] = str(threads)
        hl.load_plugin(str(Path(hl.install_dir()) / "lib64" / "libautoschedule_adams2019.so"))

    def call(self, workload: Workload, operands: Operands) -> Call:
        """See `TcPeer`."""
        function = texts()[workload.function][1]._analysed.function
        self._operands = operands  # images point into them
        made = _Translation(function, workload.sizes, operands)
        outputs = [made.output(version) for version in function.outputs.values()]
        shapes = [made.shape(version) for version in function.outputs.values()]
        for func, shape in zip(outputs, shapes, strict=True):
            func.set_estimates([hl.Range(0, extent) for extent in reversed(shape)])
        pipeline = hl.Pipeline(outputs)
        options = {"parallelism": str(self.threads)}
        target = hl.get_jit_target_from_environment()
        pipeline.apply_autoscheduler(target, hl.AutoschedulerParams("Adams2019", options))
        pipeline.compile_jit(target)

        def run() -> list[Any]:
            results = [np.empty(shape, np.float32) for shape in shapes]
            pipeline.realize([hl.Buffer(each) for each in results], target)
            return results

        return run


class _Translation:
    """The function of each version, for these sizes and arguments."""

    def __init__(self, function: CheckedFunction, sizes: Mapping[str, int], operands: Operands) -> None:
        self.sizes = {var: int(sizes[name]) for name, var in function.values.items()}
        self.versions = function.versions
        self.funcs: dict[TensorVersion, Any] = {}
        self.images = {version: hl.Buffer(operands[name]) for name, version in function.parameters.items()}
        for statement in function.statements:
            self.funcs[statement.target] = self.func(statement)

    def shape(self, version: TensorVersion) -> tuple[int, ...]:
        """Return the extents of a version, which begins at 0 in each dimension."""
        return tuple(value_of(own.upper, self.sizes) for own in version.domain or ())

    def output(self, version: TensorVersion) -> Any:
        """Return the function of an output; of a reduction another one, for tiles of which it can be computed."""
        if not self.funcs[version].has_update_definition():
            return self.funcs[version]
        result = hl.Func(f"{version.name}_out")
        places = tuple(hl.Var(f"i{place}") for place in range(version.rank))
        result[places] = self.funcs[version][places]
        return result

    def func(self, statement: CheckedStatement) -> Any:
        """Return the function that a statement defines, in stages: what it starts from, and the reduction."""
        assert not statement.partial, "a statement writes all of its target"
        pure = {var: hl.Var(var.name) for var in statement.indices}
        places, made = list(reversed(pure.values())), hl.Func(statement.target.name)
        previous = None if statement.previous is None else self.funcs[statement.previous][tuple(places)]
        combine = None if statement.combiner is None else _BINARY[statement.combiner.op]
        if not statement.reduced:
            value = self.expr(statement.value, pure, inside=False)
            made[tuple(places)] = value if combine is None or previous is None else combine(previous, value)
            return made
        assert statement.combiner is not None and combine is not None, "a reduction has a combiner"
        made[tuple(places)] = hl.f32(statement.combiner.identity) if previous is None else previous
        bounds = [self.bounds(statement, var) for var in reversed(statement.reduced)]
        domain = hl.RDom([hl.Range(low, high - low) for low, high in bounds])
        axes = dict(
            zip(reversed(statement.reduced), (domain[place] for place in range(len(bounds))), strict=True)
        )
        body = self.expr(statement.value, {**pure, **axes}, inside=False)
        made[tuple(places)] = combine(made[tuple(places)], body)
        return made

    def bounds(self, statement: CheckedStatement, var: ir.Var) -> tuple[int, int]:
        """Return the range of a reduction's index."""
        own = statement.ranges[var]
        return value_of(own.lower, self.sizes), value_of(own.upper, self.sizes)

    def expr(self, expr: ir.Expr, at: Mapping[ir.Var, Any], *, inside: bool) -> Any:
        """Return an expression at variables.

        Both sides of a condition are computed: indices `inside` of them are clamped, and so are those that are data.
        """
        match expr:
            case ir.Const(value, dtype):
                return hl.cast(_TYPES[dtype], hl.f32(value) if dtype.is_float else int(value))
            case ir.Ref(var):
                return at[var] if var in at else hl.i32(self.sizes[var])
            case ir.Load(buffer, indices):
                return self.load(self.versions[buffer], indices, at, inside=inside)
            case ir.Unary(UnaryOp.NEG, operand):
                return -self.expr(operand, at, inside=inside)
            case ir.Unary(UnaryOp.NOT, operand):
                return ~self.expr(operand, at, inside=inside)
            case ir.Unary(UnaryOp.ABS, operand):
                return hl.abs(self.expr(operand, at, inside=inside))
            case ir.Unary(op, operand):
                return _FUNCTIONS[op.name](self.expr(operand, at, inside=inside))
            case ir.Binary(op, lhs, rhs):
                return _BINARY[op](self.expr(lhs, at, inside=inside), self.expr(rhs, at, inside=inside))
            case ir.Select(condition, if_true, if_false):
                return hl.select(
                    self.expr(condition, at, inside=inside),
                    self.expr(if_true, at, inside=True),
                    self.expr(if_false, at, inside=True),
                )
            case ir.Cast(dtype, operand):
                return hl.cast(_TYPES[dtype], self.expr(operand, at, inside=inside))
            case ir.Call() | ir.Fma():
                raise NotImplementedError("no function of examples/tc has it")

    def load(
        self, version: TensorVersion, indices: Sequence[ir.Expr], at: Mapping[ir.Var, Any], *, inside: bool
    ) -> Any:
        """Return a read of a version."""
        places = []
        for index, extent in zip(indices, self.shape(version), strict=True):
            found = self.expr(index, at, inside=inside)
            is_data = any(isinstance(part, ir.Load) for part in subexpressions(index))
            places.append(hl.clamp(found, 0, extent - 1) if inside or is_data else found)
        return (self.images if version.given else self.funcs)[version][tuple(reversed(places))]
