"""The product of a lower-triangular matrix and another one (CoRa, section 7.1: trmm)."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

import ragged
from ragged import Lengths, RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.api.values import Value
from ragged.data.read import is_array, read_array
from ragged.errors import DataError
from ragged.ops.compiled import CompileArgs, Options, compiled
from ragged.ops.operands import float_type
from ragged.ops.panels import cut_panels, panels_of, version_panels
from ragged.runtime.team import check_workers

WHAT = "ragged.ops.trmm"
ROWS = 6
"""Rows that are computed together: the sums up to the first one's diagonal are of one length for all of them.

Where sums are split is their order: the number is the same on all machines, and all that `panel_vectors` knows have
registers for as many rows of a panel. Six take 0.90 of what four do at 1024, where a panel is read from the second
cache for each few rows.
"""

_PANELS_PER_WORKER = 8
"""From so many panels a worker on whole panels are shared out: the busiest worker has an eighth too much at most.

A panel that only one worker reads stays in that one's second cache, from which it is read for each block of rows.
"""


def trmm(lower: object, b: object, **compile_args: Unpack[CompileArgs]) -> npt.NDArray[Any]:
    """Return `tril(lower) @ b`, (n, m), in memory of the caller's.

    Args:
        lower: (n, n), of which what is above the diagonal is not read; or a ragged array with the i + 1 elements up to
            the diagonal in row i; of one of the floats (`ragged.ops`), which the result is of too.
        b: (n, m), of the same type.
        compile_args: `target`, `threads`, `precision`, `options` and `schedule`, as `ragged.compile` takes them.

    Raises:
        DataError: something is no matrix, or sizes or types differ that must agree.
    """
    if not is_array(b):
        raise DataError(f"{WHAT}: 'b' is of type {type(b).__name__}, and a matrix is needed")
    right = read_array(f"{WHAT}: 'b'", b)
    if right.ndim != 2:
        raise DataError(f"{WHAT}: 'b' has {right.ndim} dimensions, not (n, m)")
    triangle = isinstance(lower, RaggedArray)
    if not triangle and not is_array(lower):
        raise DataError(f"{WHAT}: 'lower' is of type {type(lower).__name__}, and a matrix is needed")
    options, dtype = Options.of(compile_args), float_type(right)
    width = options.panel(dtype)
    whole = shares_panels(right.shape[-1], width, check_workers(options.threads))
    function = compiled(
        ("trmm", triangle, whole, dtype),
        lambda: program(width, dtype, triangle=triangle, whole=whole),
        options,
    )
    given = lower.packed() if isinstance(lower, RaggedArray) else read_array(f"{WHAT}: 'lower'", lower)
    result: npt.NDArray[Any] = function(L=given, B=right)
    return result


def shares_panels(columns: int, width: int, workers: int) -> bool:
    """Return whether workers share out whole panels of `width` columns of a product of so many columns."""
    return workers == 1 or -(-columns // width) >= _PANELS_PER_WORKER * workers


def program(
    width: int, dtype: str = "float32", *, triangle: bool = False, whole: bool = True
) -> RaggedSchedule:
    """Return the scheduled operator, in panels of so many columns: inputs `L` and `B`, the product `C`.

    `triangle` says how `L` is stored.

    Sums of six rows run together up to the diagonal's block (operation splitting of the reduction); what is left of
    them is a block of six by six, with zeros above the diagonal. Workers share out the panels; unless panels are
    `whole`, the blocks of rows of all panels, by their work.
    """
    n, m = ragged.size("n"), ragged.size("m")
    rows, columns, inner = ragged.dim("i"), ragged.dim("j"), ragged.dim("k")
    panel, tile, row, lane = ragged.dim("panel"), ragged.dim("tile"), ragged.dim("row"), ragged.dim("lane")
    left = ragged.input_tensor("L", [(rows, n), (inner, rows + 1 if triangle else n)], dtype)
    b = ragged.input_tensor("B", [(inner, n), (columns, m)], dtype)
    tiles = [(panel, panels_of(m, width)), (tile, (n + (ROWS - 1)) // ROWS)]

    def at(t: Value, r: Value) -> Value:
        return ragged.minimum(t * ROWS + r, n - 1)

    packed = ragged.compute(
        "packed",
        [tiles[0], (inner, n), (lane, width)],
        lambda p, c, w: ragged.where(p * width + w < m, b[c, p * width + w], 0.0),
    )
    sums = ragged.compute(
        "sums",
        [*tiles, (row, ROWS), (lane, width)],
        lambda p, t, r, w: ragged.sum(t * ROWS, lambda c: left[at(t, r), c] * packed[p, c, w]),
    )
    corner = ragged.compute(
        "corner",
        [*tiles, (row, ROWS), (lane, width)],
        lambda p, t, r, w: ragged.sum(
            ROWS,
            lambda c: (
                ragged.where((c <= r) & (t * ROWS + r < n), left[at(t, r), at(t, c)], 0.0)
                * packed[p, at(t, c), w]
            ),
        ),
    )
    product = ragged.compute(
        "C",
        [
            *tiles,
            (row, ragged.minimum(ROWS, n - tile * ROWS)),
            (lane, ragged.minimum(width, m - panel * width)),
        ],
        lambda p, t, r, w: sums[p, t, r, w] + corner[p, t, r, w],
        dtype,
    )
    s = RaggedSchedule(product, name="trmm")
    s.compute_at(corner, product.loops[1])
    s.compute_at(sums, product.loops[1])
    if whole:
        s.compute_at(packed, product.loops[0])
    d = product.dims
    s.reorder_dimensions(d[1], d[2], d[0], d[3])
    s.fuse_dimensions(d[1], d[2])
    s.fuse_dimensions(d[0], d[3])
    if whole:
        cut_panels(s, product.loops[0], "m", width)
    else:
        s.fuse_loops(product.loops[0], product.loops[1])
        s.balance(product.loops[1], tile * ROWS + 2 * ROWS)
        s.fuse_loops(packed.loops[0], packed.loops[1])
        version_panels(s, (packed.loops[2], product.loops[2]), "p", "m", width)
    return s


def triangle_of(matrix: npt.NDArray[Any]) -> RaggedArray:
    """Return the lower triangle of a matrix (n, n) as a ragged array with i + 1 elements in row i: a copy."""
    size = len(matrix)
    lengths = Lengths((0,), np.arange(1, size + 1, dtype=np.int32))
    return RaggedArray(matrix[np.tril_indices(size)], (size, lengths))
