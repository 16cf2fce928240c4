"""Products of dense matrices of any sizes, one or a batch, either factor transposed."""

from __future__ import annotations

from typing import Any, Unpack

import ragged
from ragged.api.dims import RaggedDim
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor
from ragged.api.values import Value
from ragged.ops.blocks import widened
from ragged.ops.compiled import CompileArgs, Options, compiled
from ragged.ops.operands import float_type


def matmul(
    a: Any,
    b: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    out: Any = None,
    **compile_args: Unpack[CompileArgs],
) -> Any:
    """Return the product of two matrices, (M, N), in memory of the caller's and of the kind of `a` or `b`.

    Args:
        a: (M, K), or (K, M) if transposed: an array of NumPy, torch or another library with DLPack, of one of the
            floats (`ragged.ops`).
        b: (K, N), or (N, K) if transposed, of the same type.
        transpose_a: whether `a` is given transposed.
        transpose_b: whether `b` is given transposed.
        out: an array (M, N) of their type that the product is written into, and which is returned.
        compile_args: `target`, `threads`, `precision`, `options` and `schedule`, as `ragged.compile` takes them.

    Raises:
        DataError: shapes or dtypes do not fit together.

    Example:
        >>> scores = matmul(q, k, transpose_b=True)
    """
    transposed = bool(transpose_a), bool(transpose_b)
    return _function("matmul", transposed, float_type(a), Options.of(compile_args))(a=a, b=b, out=out)


def batch_matmul(
    a: Any,
    b: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    out: Any = None,
    **compile_args: Unpack[CompileArgs],
) -> Any:
    """Return the products of matrices of a batch, (B, M, N), of `a` (B, M, K) and `b` (B, K, N); else as `matmul`.

    Example:
        >>> scores = batch_matmul(queries, keys, transpose_b=True)
    """
    transposed = bool(transpose_a), bool(transpose_b)
    return _function("batch_matmul", transposed, float_type(a), Options.of(compile_args))(a=a, b=b, out=out)


def _function(
    name: str, transposed: tuple[bool, bool], dtype: str, options: Options
) -> ragged.RaggedFunction:
    """Return the function that computes one product, or those of a batch, compiled once a process."""
    a, b = transposed
    return compiled(
        (name, *transposed, dtype),
        lambda: product_program(name, dtype, batch=name == "batch_matmul", transpose_a=a, transpose_b=b),
        options,
    )


def product_program(
    name: str,
    dtype: str = "float32",
    *,
    batch: bool = False,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> RaggedSchedule:
    """Return the operator: inputs `a` and `b` of symbolic sizes, and their product."""
    outer, row, column, inner = (ragged.dim(each) for each in ("batch", "row", "column", "inner"))
    extents = {row: ragged.size("M"), column: ragged.size("N"), inner: ragged.size("K")}
    first = [(outer, ragged.size("B"))] if batch else []

    def tensor(own: str, *dims: RaggedDim) -> RaggedTensor:
        return ragged.input_tensor(own, [*first, *((dim, extents[dim]) for dim in dims)], dtype)

    a = tensor("a", inner, row) if transpose_a else tensor("a", row, inner)
    b = tensor("b", column, inner) if transpose_b else tensor("b", inner, column)

    a, b = widened(a), widened(b)

    def element(*indices: Value) -> Value:
        *at, i, j = indices

        def term(q: Value) -> Value:
            return (
                a[(*at, *((q, i) if transpose_a else (i, q)))]
                * b[(*at, *((j, q) if transpose_b else (q, j)))]
            )

        return ragged.sum(inner, term)

    dims = [*first, (row, extents[row]), (column, extents[column])]
    return RaggedSchedule(ragged.compute("product", dims, element, dtype), name=name)
