"""The value of each operator on scalars of each dtype.

Integers are Python's, and an operator's result is exact: whoever applies it refuses one outside `limits`. Floats
are NumPy scalars of the dtype, so that each operator rounds once; a pair is the integer that its bits are.
Functions such as tanh are computed in float64 and rounded: what any approximation of them is compared with.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import assert_never

import numpy as np

from ragged.errors import InternalError
from ragged.ir.dtype import DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.interpret.memory import Value
from ragged.ir.ops import BinaryOp, Combiner, UnaryOp


def scalar(dtype: DType) -> Callable[[Value], Value]:
    """Return what makes a value of `dtype` of a Python or NumPy scalar; it rounds if `dtype` is a float."""
    if dtype.is_float:
        return dtype.numpy.type
    return bool if dtype is DType.BOOL else int


def limits(dtype: DType) -> tuple[int, int]:
    """Return the least value of an integer dtype, and the first one above its values."""
    bits = 8 * dtype.bytes
    return (0, 1 << bits) if dtype.is_unsigned else (-(1 << bits - 1), 1 << bits - 1)


def cast(source: DType, target: DType) -> Callable[[Value], Value]:
    """Return the conversion, as C does it: to an integer toward zero, to a narrower integer by dropping bits.

    Infinities and NaN stay what they are where the target is an integer dtype: they are outside its limits.
    """
    if target is DType.BOOL:
        return lambda a: bool(a != 0)
    if source.is_float and target.is_int:
        return lambda a: int(a) if math.isfinite(a) else a
    if target is DType.BFLOAT16:
        return lambda a: np.uint16(_upper_half(np.float32(a))).view(target.numpy)[()]
    given, converted, made = source.numpy.type, target.numpy, scalar(target)
    return lambda a: made(given(a).astype(converted))


def unary(op: UnaryOp | Elementwise, dtype: DType) -> Callable[[Value], Value]:
    """Return the operator on values of `dtype`."""
    match op:
        case UnaryOp.NOT:
            return lambda a: not a
        case UnaryOp.NEG:
            return operator.neg
        case UnaryOp.ABS:
            return abs
        case Elementwise(numpy=function):
            return _rounded(function, op, dtype)
        case _:
            assert_never(op)


def binary(op: BinaryOp, dtype: DType) -> Callable[[Value, Value], Value]:
    """Return the operator on values of `dtype`; not AND and OR, which do not evaluate both."""
    match op:
        case BinaryOp.ADD:
            return operator.add
        case BinaryOp.SUB:
            return operator.sub
        case BinaryOp.MUL:
            return operator.mul
        case BinaryOp.DIV:
            _require(dtype.is_float, op, dtype)
            return operator.truediv
        case BinaryOp.FLOORDIV:
            _require(dtype.is_int, op, dtype)
            return lambda a, b: a // b if b else 0
        case BinaryOp.MOD:
            _require(dtype.is_int, op, dtype)
            return lambda a, b: a % b if b else a
        case BinaryOp.MIN:
            return lambda a, b: a if a < b or a != a else b
        case BinaryOp.MAX:
            return lambda a, b: a if a > b or a != a else b
        case BinaryOp.EQ:
            return lambda a, b: bool(a == b)
        case BinaryOp.NE:
            return lambda a, b: bool(a != b)
        case BinaryOp.LT:
            return lambda a, b: bool(a < b)
        case BinaryOp.LE:
            return lambda a, b: bool(a <= b)
        case BinaryOp.GT:
            return lambda a, b: bool(a > b)
        case BinaryOp.GE:
            return lambda a, b: bool(a >= b)
        case BinaryOp.PAIR:
            return lambda a, b: _upper_half(a) << 16 | _upper_half(b)
        case BinaryOp.DOT:
            return lambda a, b: _fma_pairs(a, b, np.float32(0))
        case BinaryOp.AND | BinaryOp.OR:
            raise InternalError(f"'{op.value}' is not strict in its operands")
        case _:
            assert_never(op)


def combine(combiner: Combiner, dtype: DType) -> Callable[[Value, Value], Value]:
    """Return what a reduction does with its accumulator and a value."""
    match combiner:
        case Combiner.SUM:
            return binary(BinaryOp.ADD, dtype)
        case Combiner.PROD:
            return binary(BinaryOp.MUL, dtype)
        case Combiner.MAX:
            return binary(BinaryOp.MAX, dtype)
        case Combiner.MIN:
            return binary(BinaryOp.MIN, dtype)
        case _:
            assert_never(combiner)


def fma(factor: DType, dtype: DType) -> Callable[[Value, Value, Value], Value]:
    """Return `a * b + c` rounded once; of pairs, first with the first ones, then with the second ones."""
    match dtype:
        case DType.FLOAT32 if factor is DType.BFLOAT16X2:
            return _fma_pairs
        case DType.FLOAT32:
            return _fma_float32
        case DType.FLOAT64:
            return _fma_float64
        case _:
            raise InternalError(f"fma is not for {dtype.value}")


def _upper_half(value: Value) -> int:
    """Return the bits of the bfloat16 nearest to a float32; of NaN a quiet one."""
    bits = int(np.float32(value).view(np.uint32))
    if math.isnan(value):
        return bits >> 16 | 0x40
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


def _halves(pair: Value) -> tuple[Value, Value]:
    """Return the two floats of a pair."""
    first, second = int(pair) & 0xFFFF0000, int(pair) << 16 & 0xFFFF0000
    return np.uint32(first).view(np.float32), np.uint32(second).view(np.float32)


def _fma_pairs(a: Value, b: Value, c: Value) -> Value:
    (a0, a1), (b0, b1) = _halves(a), _halves(b)
    return _fma_float32(a1, b1, _fma_float32(a0, b0, c))


def _fma_float32(a: Value, b: Value, c: Value) -> Value:
    product, addend = float(a) * float(b), float(c)  # exact: 48 bits
    total = product + addend
    if not math.isfinite(total):
        return np.float32(total)
    part = total - product
    lost = (product - (total - part)) + (addend - part)  # exact: what rounding to float64 dropped
    # Rounding to float64 and then to float32 is rounding twice, unless the first one rounds to odd.
    if lost != 0.0 and not int(np.float64(total).view(np.int64)) & 1:
        total = math.nextafter(total, math.copysign(math.inf, lost))
    return np.float32(total)


def _fma_float64(a: Value, b: Value, c: Value) -> Value:
    plain = a * b + c
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return plain
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if not exact:
        return plain  # which knows the sign of this zero
    try:
        return np.float64(float(exact))
    except OverflowError:
        return np.float64(math.inf if exact > 0 else -math.inf)


def _rounded(
    function: Callable[[np.float64], np.float64], op: Elementwise, dtype: DType
) -> Callable[[Value], Value]:
    _require(dtype.is_float, op, dtype)
    scalar = dtype.numpy.type
    return lambda a: scalar(function(np.float64(a)))


def _require(holds: bool, op: UnaryOp | BinaryOp | Elementwise, dtype: DType) -> None:
    if not holds:
        raise InternalError(f"'{op.value}' is not for {dtype.value}")
