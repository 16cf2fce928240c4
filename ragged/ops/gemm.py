"""Products of matrices of different sizes, one of each for every index of a batch (CoRa, section 7.1: vgemm)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

import ragged
from ragged import Lengths, RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.data.read import is_array, read_array
from ragged.errors import DataError
from ragged.ops.compiled import CompileArgs, Options, compiled
from ragged.ops.operands import float_type
from ragged.ops.panels import panels_of, version_panels

WHAT = "ragged.ops.vgemm"
Matrices = RaggedArray | Sequence[object]


def vgemm(a: Matrices, b: Matrices, **compile_args: Unpack[CompileArgs]) -> RaggedArray:
    """Return `a[i] @ b[i]` for each i, a ragged array (batch, m_i, n_i) in memory of the caller's.

    Args:
        a: a ragged array (batch, m_i, k_i), or a list of matrices, which are copied; of one of the floats
            (`ragged.ops`), which the result is of too.
        b: (batch, k_i, n_i), the same, of the same type.
        compile_args: `target`, `threads`, `precision`, `options` and `schedule`, as `ragged.compile` takes them.

    Raises:
        DataError: something is no matrix, or sizes or types differ that must agree.
    """
    left, right, options = matrices("a", a), matrices("b", b), Options.of(compile_args)
    dtype = float_type(left)
    function = compiled(("vgemm", dtype), lambda: program(options.panel(dtype), dtype), options)
    result: RaggedArray = function(A=left, B=right)
    return result


def program(width: int, dtype: str = "float32", *, split: bool = True) -> RaggedSchedule:
    """Return the scheduled operator, in panels of so many columns: inputs `A` and `B`, the products `C`.

    `split` cuts whole panels apart.
    """
    batch, panel, lane = ragged.dim("batch"), ragged.dim("panel"), ragged.dim("lane")
    rows, columns, inner = ragged.dim("i"), ragged.dim("j"), ragged.dim("k")
    m, n, k = (ragged.length_fn(name, over=batch) for name in "mnk")
    size = ragged.size("batches")
    a = ragged.input_tensor("A", [(batch, size), (rows, m(batch)), (inner, k(batch))], dtype)
    b = ragged.input_tensor("B", [(batch, size), (inner, k(batch)), (columns, n(batch))], dtype)
    outer = [(batch, size), (panel, panels_of(n(batch), width))]
    packed = ragged.compute(
        "packed",
        [*outer, (inner, k(batch)), (lane, width)],
        lambda i, p, c, w: ragged.where(p * width + w < n(i), b[i, c, p * width + w], 0.0),
    )
    sums = ragged.compute(
        "sums",
        [*outer, (rows, m(batch)), (lane, width)],
        lambda i, p, r, w: ragged.sum(k(i), lambda c: a[i, r, c] * packed[i, p, c, w]),
    )
    product = ragged.compute(
        "C",
        [*outer, (rows, m(batch)), (lane, ragged.minimum(width, n(batch) - panel * width))],
        lambda i, p, r, w: sums[i, p, r, w],
        dtype,
    )
    s = RaggedSchedule(product, name="vgemm")
    s.compute_at(sums, product.loops[2])
    s.compute_at(packed, product.loops[1])
    d = product.dims
    s.reorder_dimensions(d[0], d[2], d[1], d[3])
    s.fuse_dimensions(d[1], d[3])
    s.fuse_loops(product.loops[0], product.loops[1])
    s.balance(product.loops[1], m(batch) * k(batch))
    if split:
        version_panels(s, (packed.loops[2], product.loops[2]), "p", "n(i)", width)
    return s


def matrices(name: str, given: Matrices) -> RaggedArray:
    """Return matrices as one ragged array; `name` is the argument that they are. Raises as `vgemm` does."""
    if isinstance(given, RaggedArray):
        return given.packed()
    if not isinstance(given, Sequence):
        raise DataError(f"{WHAT}: '{name}' is of type {type(given).__name__}", fix="a list of matrices")
    matrices: list[npt.NDArray[Any]] = []
    for place, each in enumerate(given):
        matrices.append(_matrix(f"{WHAT}: '{name}[{place}]'", each, matrices))
    sizes = np.array([each.shape for each in matrices], np.int32).reshape(-1, 2)
    values = np.concatenate([each.reshape(-1) for each in matrices]) if matrices else np.empty(0, np.float32)
    extents = (len(matrices), Lengths((0,), sizes[:, 0]), Lengths((0,), sizes[:, 1]))
    return RaggedArray(values, extents)


def _matrix(what: str, given: object, before: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    if not is_array(given):
        raise DataError(f"{what} is of type {type(given).__name__}, and a matrix is needed")
    array = read_array(what, given)
    dtype = before[0].dtype if before else float_type(array)
    if array.ndim != 2 or array.dtype != dtype:
        raise DataError(f"{what} is {array.ndim}-D of {array.dtype}, and a {dtype} matrix is needed")
    return array
