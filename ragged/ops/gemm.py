"""Products of matrices of different sizes, one of each for every index of a batch (CoRa, section 7.1: vgemm)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np

import ragged
from ragged import Lengths, RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.data.read import is_array, read_array
from ragged.errors import DataError
from ragged.ops.compiled import CompileArgs, Options, compiled
from ragged.ops.panels import WIDTH, panels_of, version_panels

WHAT = "ragged.ops.vgemm"
Matrices = RaggedArray | Sequence[object]


def vgemm(a: Matrices, b: Matrices, **compile_args: Unpack[CompileArgs]) -> RaggedArray:
    """Return `a[i] @ b[i]` for each i, a ragged array (batch, m_i, n_i) in memory of the caller's.

    Args:
        a: a ragged array (batch, m_i, k_i), or a list of float32 matrices, which are copied.
        b: (batch, k_i, n_i), the same.
        compile_args: `target`, `threads`, `precision` and `options`, as `ragged.compile` takes them.

    Raises:
        DataError: something is no float32 matrix, or sizes differ that must agree.
    """
    function = compiled("vgemm", program, Options.of(compile_args))
    result: RaggedArray = function(A=matrices("a", a), B=matrices("b", b))
    return result


def program(*, split: bool = True) -> RaggedSchedule:
    """Return the scheduled operator: inputs `A` and `B`, the products `C`; `split` cuts whole panels apart."""
    batch, panel, lane = ragged.dim("batch"), ragged.dim("panel"), ragged.dim("lane")
    rows, columns, inner = ragged.dim("i"), ragged.dim("j"), ragged.dim("k")
    m, n, k = (ragged.length_fn(name, over=batch) for name in "mnk")
    size = ragged.size("batches")
    a = ragged.input_tensor("A", [(batch, size), (rows, m(batch)), (inner, k(batch))])
    b = ragged.input_tensor("B", [(batch, size), (inner, k(batch)), (columns, n(batch))])
    outer = [(batch, size), (panel, panels_of(n(batch)))]
    packed = ragged.compute(
        "packed",
        [*outer, (inner, k(batch)), (lane, WIDTH)],
        lambda i, p, c, w: ragged.where(p * WIDTH + w < n(i), b[i, c, p * WIDTH + w], 0.0),
    )
    sums = ragged.compute(
        "sums",
        [*outer, (rows, m(batch)), (lane, WIDTH)],
        lambda i, p, r, w: ragged.sum(k(i), lambda c: a[i, r, c] * packed[i, p, c, w]),
    )
    product = ragged.compute(
        "C",
        [*outer, (rows, m(batch)), (lane, ragged.minimum(WIDTH, n(batch) - panel * WIDTH))],
        lambda i, p, r, w: sums[i, p, r, w],
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
        version_panels(s, (packed.loops[2], product.loops[2]), "p", "n(i)")
    return s


def matrices(name: str, given: Matrices) -> RaggedArray:
    """Return matrices as one ragged array; `name` is the argument that they are. Raises as `vgemm` does."""
    if isinstance(given, RaggedArray):
        return given.packed()
    if not isinstance(given, Sequence):
        raise DataError(f"{WHAT}: '{name}' is of type {type(given).__name__}", fix="a list of matrices")
    matrices = [_matrix(f"{WHAT}: '{name}[{place}]'", each) for place, each in enumerate(given)]
    sizes = np.array([each.shape for each in matrices], np.int32).reshape(-1, 2)
    values = np.concatenate([each.reshape(-1) for each in matrices]) if matrices else np.empty(0, np.float32)
    extents = (len(matrices), Lengths((0,), sizes[:, 0]), Lengths((0,), sizes[:, 1]))
    return RaggedArray(values, extents)


def _matrix(what: str, given: object) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    if not is_array(given):
        raise DataError(f"{what} is of type {type(given).__name__}, and a matrix is needed")
    array = read_array(what, given)
    if array.ndim != 2 or array.dtype != np.float32:
        raise DataError(f"{what} is {array.ndim}-D of {array.dtype}, and a float32 matrix is needed")
    return array
