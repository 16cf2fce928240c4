"""Operations on floats that TVM has no exact word for: they stand in TIR by name until it is lowered for a target.

TVM's own multiplication may be contracted with an addition, its max and min drop NaN, and its functions are
approximations of little accuracy or calls into the C library. `ragged.codegen.lower_llvm` says what these are on a CPU.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ragged.codegen.load_tvm import register_op_attr, tirx
from ragged.ir.dtype import DType
from ragged.ir.elementwise import Elementwise

TirExpr = Any
"""A tirx expression; TVM has no types for a type checker."""
TirStmt = Any
"""A tirx statement."""

PREFIX = "ragged."
FMA, MUL = "ragged.fma", "ragged.mul"
PAIR, DOT = "ragged.pair", "ragged.dot"
PAIRS = "ragged.pairs"
"""`pairs(elements)`: each of two elements of a vector that stand side by side as a pair, half as many as elements."""
PAIRED = (4, 8, 16)
"""The lanes of pairs that there are instructions for."""
MAX, MIN = "ragged.max", "ragged.min"
BARRIER, CLAIM = "ragged.barrier", "ragged.claim"
"""`barrier(status, workers, buffers...)` and `claim(status, code)`: see `ragged.codegen.team_text`."""
MULTIPLY, RELEASE = "ragged.multiply", "ragged.release"
"""`multiply(tiles, shape, ...)` and `release(shape)`: see `ragged.codegen.tile_text`."""
TRANSPOSE = "ragged.transpose"
"""`transpose(out, out_stride, stored, rows...)`: see `ragged.codegen.transpose_text`."""
MASKED_LOAD, MASKED_STORE = "ragged.masked_load", "ragged.masked_store"
"""`masked_load(address, first, count)` and `masked_store(address, value, count)`: see `ragged.codegen.masked_text`."""
MASKED_SCATTER = "ragged.masked_scatter"
"""`masked_scatter(address, value, count, stride)`: a masked store of elements that are `stride` elements apart."""
PREFETCH = "ragged.prefetch"
"""`prefetch(address)`: the cache line of an address will be read soon."""
OPERATIONS = {FMA: "fma", MUL: "mul", PAIR: "pair", DOT: "dot", MAX: "max", MIN: "min"}
"""The operations by their names in TIR, and their names in `ragged.codegen.elementary`."""

_STORED = {DType.BFLOAT16X2: "float32", DType.BFLOAT16: "uint16"}
_PURE, _OPAQUE = 1, 3  # of tirx's CallEffectKind


def _register_pure(name: str) -> None:
    register_op_attr(name, "TCallEffectKind", _PURE)
    register_op_attr(name, "TVectorizable", True)
    register_op_attr(name, "TScriptPrinterName", name)


for _name in (*OPERATIONS, PAIRS):
    _register_pure(_name)
for _name in (
    BARRIER,
    CLAIM,
    MULTIPLY,
    RELEASE,
    TRANSPOSE,
    MASKED_LOAD,
    MASKED_STORE,
    MASKED_SCATTER,
    PREFETCH,
):
    register_op_attr(_name, "TCallEffectKind", _OPAQUE)
    register_op_attr(_name, "TScriptPrinterName", _name)


def stored_as(dtype: DType) -> str:
    """Return the TIR type of an element. A pair is handed about as a float32 of its bits, a bfloat16 as an integer."""
    return _STORED.get(dtype, dtype.value)


def element_type(dtype: DType) -> str:
    """Return the TIR type of an element in memory: a bool is a byte there."""
    return "int8" if dtype is DType.BOOL else stored_as(dtype)


def literal(value: float | int | bool, dtype: DType) -> TirExpr:
    """Return a constant."""
    if dtype is DType.BFLOAT16:
        return tirx.IntImm("uint16", int(dtype.numpy.type(value).view(np.uint16)))
    return tirx.FloatImm(dtype.value, dtype.nearest(value)) if dtype.is_float else _integer(int(value), dtype)


def is_held(dtype: DType, stored: DType, wide: DType) -> bool:
    """Return whether a type is the one that is stored, and another one has all its values: nothing is rounded twice."""
    return dtype is stored and dtype.is_float is wide.is_float and dtype.bytes < wide.bytes


def from_bfloat16(x: TirExpr) -> TirExpr:
    """Return the float32 that a bfloat16 is: its bits are the upper half."""
    return tirx.reinterpret("float32", tirx.shift_left(tirx.Cast("uint32", x), _word(16)))


def to_bfloat16(x: TirExpr) -> TirExpr:
    """Return a float32 as the nearest bfloat16, the even one of two that are as near; of NaN a quiet one."""
    bits = tirx.reinterpret("uint32", x)
    upper = tirx.shift_right(bits, _word(16))
    odd = tirx.bitwise_and(upper, _word(1))
    rounded = tirx.shift_right(tirx.Add(bits, tirx.Add(odd, _word(0x7FFF))), _word(16))
    is_nan = tirx.GT(tirx.bitwise_and(bits, _word(0x7FFFFFFF)), _word(0x7F800000))
    return tirx.Cast("uint16", tirx.Select(is_nan, tirx.bitwise_or(upper, _word(0x40)), rounded))


def _word(value: int) -> TirExpr:
    return tirx.IntImm("uint32", value)


@cache
def _integer(value: int, dtype: DType) -> TirExpr:
    return tirx.IntImm(dtype.value, value)


def fma(a: TirExpr, b: TirExpr, c: TirExpr, dtype: DType) -> TirExpr:
    """Return `a * b + c` of floats, rounded once."""
    return tirx.call_intrin(dtype.value, FMA, a, b, c)


def dot(a: TirExpr, b: TirExpr, c: TirExpr) -> TirExpr:
    """Return `c` and the products of two pairs: that of the first ones added to it, then that of the second ones."""
    return tirx.call_intrin("float32", DOT, a, b, c)


def pair(first: TirExpr, second: TirExpr) -> TirExpr:
    """Return two float32 rounded to bfloat16, the first one in the upper half."""
    return tirx.call_intrin("float32", PAIR, first, second)


def multiplied(a: TirExpr, b: TirExpr, dtype: DType) -> TirExpr:
    """Return `a * b` of floats, rounded by itself whatever it is added to."""
    return tirx.call_intrin(dtype.value, MUL, a, b)


def extreme(name: str, a: TirExpr, b: TirExpr, dtype: DType) -> TirExpr:
    """Return the larger or smaller of floats, by MAX or MIN; NaN if one is NaN."""
    return tirx.call_intrin(dtype.value, name, a, b)


def negated(x: TirExpr, dtype: DType) -> TirExpr:
    """Return `-x`; of a zero, the other zero."""
    return tirx.Sub(literal(-0.0 if dtype.is_float else 0, dtype), x)


def unequal(a: TirExpr, b: TirExpr) -> TirExpr:
    """Return `a != b` of floats, which is true where either is NaN; TVM's own NE is false there."""
    return tirx.Not(tirx.EQ(a, b))


def elementary(row: Elementwise, x: TirExpr, dtype: DType) -> TirExpr:
    """Return a function of a float."""
    return tirx.call_intrin(dtype.value, elementary_name(row), x)


@cache
def elementary_name(row: Elementwise) -> str:
    """Return the name of a function of floats in TIR."""
    name = PREFIX + row.name
    _register_pure(name)
    return name


def library(name: str, x: TirExpr, dtype: DType) -> TirExpr:
    """Return LLVM's own function: an instruction, or a call of the C library's for each element."""
    return tirx.call_llvm_pure_intrin(dtype.value, f"llvm.{name}", x)
