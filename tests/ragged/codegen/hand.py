"""Short ways to write programs by hand, and to run them compiled and interpreted."""

from __future__ import annotations

import numpy as np

from ragged.codegen.build import Compiled, compile_program
from ragged.ir.build import index
from ragged.ir.dtype import DType
from ragged.ir.expr import (
    Binary,
    Buffer,
    Call,
    Const,
    Expr,
    Function,
    Load,
    Param,
    Ref,
    Role,
    Source,
    Unary,
    Var,
)
from ragged.ir.interpret import interpret
from ragged.ir.ops import BinaryOp, Combiner, UnaryOp
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import For, Label, LoopKind, Reduce, Stmt, Store, block
from ragged.ir.text.names import unary_call
from ragged.runtime.call import Caller

F32, F64, I32, I64, BOOL = DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64, DType.BOOL


def size(name: str, source: Source = Source.CALL) -> Function:
    return Function(name, (), source)


def table(name: str, *extents: int | Function | Expr, storage: DType = I32, dtype: DType = I64) -> Function:
    params = tuple(Param(Var(f"p{i}"), index(extent)) for i, extent in enumerate(extents))
    return Function(name, params, Source.INPUT, dtype=dtype, storage=storage)


def buffer(name: str, *shape, role: Role = Role.PARAMETER, dtype: DType = F32, **more) -> Buffer:
    return Buffer(name, dtype, tuple(index(extent) for extent in shape), role, **more)


def output(name: str, *shape, dtype: DType = F32, **more) -> Buffer:
    return buffer(name, *shape, role=Role.OUTPUT, dtype=dtype, **more)


def program(kernel: Stmt, *symbols: Function | Buffer, name: str = "p", **stages: Stmt) -> Program:
    """A program with a kernel, and other stages by name; `symbols` are its functions and buffers."""
    functions = tuple(symbol for symbol in symbols if isinstance(symbol, Function))
    buffers = tuple(symbol for symbol in symbols if isinstance(symbol, Buffer))
    bodies = {**stages, "kernel": kernel}
    return Program(
        name, functions, buffers, (), tuple(Stage(k, bodies[k.value]) for k in StageKind if k.value in bodies)
    )


def f32(value: float) -> Const:
    return Const(value, F32)


def op(operator: str, lhs: Expr, rhs: Expr) -> Expr:
    return Binary(BinaryOp(operator), lhs, rhs)


def call(operator: str, operand: Expr) -> Expr:
    return Unary(unary_call(operator) or UnaryOp(operator), operand)


def at(what: Buffer | Function, *indices: int | Var | Function | Expr) -> Load | Call:
    args = tuple(index(i) for i in indices)
    return Load(what, args) if isinstance(what, Buffer) else Call(what, args)


def store(target: Buffer, indices: tuple, value: Expr) -> Store:
    return Store(Label(target.name), target, tuple(index(i) for i in indices), value)


def reduce(target: Buffer, indices: tuple, value: Expr, *axes: Var, combiner: str = "sum") -> Reduce:
    how = Combiner(combiner)
    init = Const(how.identity, target.dtype)
    return Reduce(Label(target.name), target, tuple(index(i) for i in indices), how, value, axes, init)


def loop(var: Var, extent, body: Stmt, kind: LoopKind = LoopKind.SERIAL) -> For:
    return For(var, index(extent), body, kind)


def elementwise(
    value, *, dtype: DType = F32, result: DType | None = None, width: int | None = None
) -> Program:
    """out[i] = value(x[i], y[i]) for i < n; in vectors of `width` if it is given, what is over in scalars."""
    n, i, j, k = size("n"), Var("i"), Var("j"), Var("k")
    x, y = buffer("x", n, dtype=dtype), buffer("y", n, dtype=dtype)
    out = output("out", n, dtype=result or dtype)

    def body(position: Expr) -> Stmt:
        return store(out, (position,), value(at(x, position), at(y, position)))

    if width is None:
        return program(loop(i, n, body(Ref(i))), n, x, y, out)
    begin = op("*", Ref(j), Const(width))
    rest = op("*", op("//", Call(n), Const(width)), Const(width))
    vectors = loop(
        j, op("//", Call(n), Const(width)), loop(i, width, body(op("+", begin, Ref(i))), LoopKind.VECTORIZED)
    )
    scalars = loop(k, op("-", Call(n), rest), body(op("+", rest, Ref(k))))
    return program(block(vectors, scalars), n, x, y, out)


def run(what: Program | Compiled, **values) -> dict[str, np.ndarray]:
    """Run the kernel compiled, the outputs made by the caller's side."""
    compiled = compile_program(what) if isinstance(what, Program) else what
    return Caller([compiled.entry(StageKind.KERNEL)], {})(values)


def check_both(what: Program, **values) -> dict[str, np.ndarray]:
    """Run a program compiled and interpreted; the results must be the same, floats to the bit."""
    sizes = {name: value for name, value in values.items() if isinstance(value, int)}
    arrays = {name: value for name, value in values.items() if not isinstance(value, int)}
    expected = interpret(what, sizes, arrays)
    got = run(what, **values)
    for name, array in got.items():
        np.testing.assert_array_equal(array, expected[name])
    return got
