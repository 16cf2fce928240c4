"""Elementwise operators on lower-triangular matrices, which store and compute no element above the diagonal."""

from __future__ import annotations

from typing import Any, Unpack

import ragged
from ragged import RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor
from ragged.api.values import Value
from ragged.data.read import is_array, read_array
from ragged.errors import DataError
from ragged.ops.compiled import CompileArgs, Options, compiled
from ragged.ops.elementwise import COMBINE
from ragged.ops.operands import float_type
from ragged.ops.rows import fuse_vectors
from ragged.ops.trmm import triangle_of


def triangle(matrix: Any) -> RaggedArray:
    """Return the lower triangle of a matrix (n, n), its diagonal included, stored row by row: extents (n, i + 1).

    The elements are copied; `to_padded()` of the result is the matrix with zeros above the diagonal.

    Raises:
        DataError: it is not square.
    """
    return triangle_of(_square("ragged.ops.triangle", read_array("ragged.ops.triangle: the matrix", matrix)))


def tradd(a: Any, b: Any, **compile_args: Unpack[CompileArgs]) -> RaggedArray:
    """Return the triangle a + b of two lower-triangular matrices (CoRa, appendix D.4).

    Args:
        a: a triangle, a ragged array of extents (n, i + 1) as `triangle` makes it; or a dense matrix (n, n), of which
            nothing above the diagonal is read; of one of the floats (`ragged.ops`).
        b: the same, of the same type.
        compile_args: `target`, `threads`, `precision`, `options` and `schedule`, as `ragged.compile` takes them.

    Returns:
        A triangle of the type of `a`, in memory of the caller's.

    Raises:
        DataError: an operand is neither, they differ in n or in type, or elements are no floats.
    """
    return _combined("add", a, b, Options.of(compile_args))


def trmul(a: Any, b: Any, **compile_args: Unpack[CompileArgs]) -> RaggedArray:
    """Return the triangle a * b, element by element (CoRa, appendix D.4); arguments and errors are those of `tradd`."""
    return _combined("mul", a, b, Options.of(compile_args))


def _combined(op: str, a: Any, b: Any, options: Options) -> RaggedArray:
    what = f"ragged.ops.tr{op}"
    left, right = _read(what, a), _read(what, b)
    dense = not isinstance(left, RaggedArray), not isinstance(right, RaggedArray)
    dtype = float_type(left)
    own = *dense, dtype
    function = compiled((what, *own), lambda: _program(op, *own, options.lanes(dtype)), options)
    result: RaggedArray = function(a=left, b=right)
    return result


def _read(what: str, value: Any) -> Any:
    if isinstance(value, RaggedArray):
        return value.packed()
    if not is_array(value):
        raise DataError(f"{what}: an operand is of type {type(value).__name__}, and a matrix is needed")
    return _square(what, read_array(what, value))


def _square(what: str, array: Any) -> Any:
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise DataError(f"{what}: a matrix of the shape {array.shape} is not square")
    return array


def _program(op: str, dense_a: bool, dense_b: bool, dtype: str, lanes: int) -> RaggedSchedule:
    row, column, n = ragged.dim("row"), ragged.dim("column"), ragged.size("n")

    def operand(name: str, dense: bool) -> RaggedTensor:
        return ragged.input_tensor(name, [(row, n), (column, n if dense else row + 1)], dtype)

    a, b = operand("a", dense_a), operand("b", dense_b)

    def element(i: Value, j: Value) -> Value:
        return COMBINE[op](a[i, j], b[i, j])

    result = ragged.compute(f"tr{op}", [(row, n), (column, row + 1)], element, dtype)
    s = ragged.Schedule(result)
    fuse_vectors(s, result, flat=not (dense_a or dense_b), lanes=lanes)
    return s
