"""Operators with and without single optimizations: the same equations under several schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import ragged
from bench.lengths import Lengths
from ragged import RaggedArray, Schedule
from ragged.api.tensors import DimLike, RaggedTensor
from ragged.ops import gemm
from ragged.ops.compiled import Options
from ragged.ops.panels import version_panels
from ragged.ops.trmm import program as trmm_program
from ragged.transform.loops.split import Tail

Array = npt.NDArray[Any]
Build = Callable[[], Schedule]
TOGETHER = 32
"""What rows are padded to a multiple of, or computed in blocks of."""
WIDTH = Options().panel("float32")
"""Columns of a panel of products."""
_STENCILS = 3


@dataclass(frozen=True, slots=True)
class Variant:
    """A schedule of an operator, and what it is run on; of each row of the result the first `kept` are looked at."""

    name: str
    build: Build
    inputs: Mapping[str, object]
    params: Mapping[str, object] = field(default_factory=dict)
    kept: tuple[int, ...] | None = None

    def call(self, threads: int) -> Callable[[], Any]:
        """Compile it and return a call on its inputs."""
        function = ragged.compile(self.build(), self.params, threads=threads)
        return lambda: function(**self.inputs)

    def rows(self, result: Any) -> list[Array]:
        """Return the rows of a result without padding."""
        arrays = rows_of(result)
        return arrays if self.kept is None else [a[:k] for a, k in zip(arrays, self.kept, strict=True)]


def rows_of(result: Any) -> list[Array]:
    """Return the rows of a result as arrays."""
    found = result.rows() if isinstance(result, RaggedArray) else list(result)
    return [np.asarray(row.to_padded(0) if isinstance(row, RaggedArray) else row) for row in found]


def linear_variants(lengths: Lengths, width: int, rng: np.random.Generator) -> list[Variant]:
    """Return a linear layer over sequences, padded in full, in part, in bulk and not at all.

    What is padded in part is read and stored as it is, or copied to padded rows by an operator and back by another.
    """
    rows = [rng.standard_normal((n, width), np.float32) for n in lengths]
    given = ragged.array(rows)
    longest = max(lengths)
    full = np.zeros((len(rows), longest, width), np.float32)
    for own, row in zip(full, rows, strict=True):
        own[: len(row)] = row
    weight = rng.standard_normal((width, width), np.float32) / np.float32(width**0.5)
    params = {"W": weight}

    def build(each: int = 1, bulk: int | None = None, *, copied: bool = False) -> Build:
        def made() -> Schedule:
            batch, length = ragged.dim("batch"), ragged.dim("length")
            wide, out = ragged.dim("wide"), ragged.dim("out")
            n = ragged.length_fn("n", over=batch)
            a = ragged.input_tensor("A", [(batch, ragged.size("B")), (length, n(batch)), (wide, width)])
            w = ragged.parameter("W", [(out, width), (wide, width)])
            x = ragged.compute("P", a.dims, lambda b, t, k: a[b, t, k]) if copied else a
            y = product = ragged.compute(
                "Y",
                [*a.dims[:2], (out, width)],
                lambda b, t, o: ragged.sum(width, lambda k: x[b, t, k] * w[o, k]),
            )
            if copied:
                y = ragged.compute("Z", product.dims, lambda b, t, o: product[b, t, o])
            s = Schedule(y)
            for tensor in (x, product) if copied else (product,) if each > 1 else ():
                s.pad_loop(tensor.loops[1], each)
                s.pad_dimension(tensor.dims[1], each)
            if bulk is not None:
                if bulk > 1:
                    s.fuse_dimensions(y.dims[0], y.dims[1], pad=bulk)
                s.fuse_loops(y.loops[0], y.loops[1], pad=bulk)
            return s

        return made

    kept = tuple(map(int, lengths))
    padded = {"A": ragged.array(full)}
    return [
        Variant("padded to the longest", build(bulk=1), padded, params, kept),
        Variant(
            f"each sequence to a multiple of {TOGETHER}, copied",
            build(each=TOGETHER, copied=True),
            {"A": given},
            params,
        ),
        Variant(f"each sequence to a multiple of {TOGETHER}", build(each=TOGETHER), {"A": given}, params),
        Variant("rows of each sequence", build(), {"A": given}, params),
        Variant(f"all rows, to a multiple of {TOGETHER}", build(bulk=TOGETHER), {"A": given}, params),
        Variant("all rows", build(bulk=1), {"A": given}, params),
    ]


def softmax_variants(lengths: Lengths, rng: np.random.Generator) -> list[Variant]:
    """Return a softmax over scores, with and without what its rows look up hoisted."""
    table = ragged.Lengths((0,), np.asarray(lengths, np.int32))
    size = int((np.asarray(lengths, np.int64) ** 2).sum())
    scores = RaggedArray(rng.standard_normal(size, np.float32), (len(lengths), table, table))

    def build(*, hoisted: bool) -> Build:
        def made() -> Schedule:
            batch, row, key = ragged.dim("batch"), ragged.dim("row"), ragged.dim("key")
            n = ragged.length_fn("n", over=batch)
            x = ragged.input_tensor("S", [(batch, ragged.size("B")), (row, n(batch)), (key, n(batch))])
            e = ragged.compute(
                "E",
                x.dims,
                lambda b, t, u: ragged.exp(x[b, t, u] - ragged.max(n(b), lambda v: x[b, t, v])),
            )
            y = ragged.compute(
                "Y", x.dims, lambda b, t, u: e[b, t, u] / ragged.sum(n(b), lambda v: e[b, t, v])
            )
            s = Schedule(y)
            s.compute_at(e, y.loops[1])
            if hoisted:
                for loop in (*e.loops[2:], y.loops[2], y.loops[1]):
                    s.hoist_loads(loop)
            return s

        return made

    return [
        Variant("looked up at each element", build(hoisted=False), {"S": scores}),
        Variant("looked up once a row", build(hoisted=True), {"S": scores}),
    ]


def stencil_variants(lengths: Lengths, width: int, rng: np.random.Generator) -> list[Variant]:
    """Return means over three places, thrice in a row, over sequences with results of these lengths.

    Each mean is a nest of its own, or those before are computed at a sequence of the last one, or at a block of its
    rows: as many rows as the block reads, some of which the next block computes again.
    """
    border = 2 * _STENCILS
    inputs = {"A": ragged.array([rng.standard_normal((n + border, width), np.float32) for n in lengths])}

    def build(at: str) -> Build:
        def made() -> Schedule:
            batch, size, wide = ragged.dim("batch"), ragged.size("B"), ragged.dim("wide")
            n = ragged.length_fn("n", over=batch)
            given = ragged.input_tensor("A", [(batch, size), (ragged.dim("place"), n(batch)), (wide, width)])
            means = [given]
            for number in range(1, _STENCILS + 1):
                dims: list[DimLike] = [
                    (batch, size),
                    (ragged.dim(f"place{number}"), n(batch) - 2 * number),
                    (wide, width),
                ]
                means.append(_mean(f"mean{number}", dims, means[-1]))
            *before, y = means[1:]
            s = Schedule(y)
            for mean in reversed(before) if at else ():
                s.compute_at(mean, y.loops[0])
            if at == "block":
                block, _ = s.split_loop(y.loops[1], TOGETHER, Tail.SHORT)
                for mean in reversed(before):
                    s.compute_at(mean, block)
            return s

        return made

    return [
        Variant("a nest for each mean", build(""), inputs),
        Variant("computed at each sequence", build("sequence"), inputs),
        Variant(f"computed at each block of {TOGETHER} rows", build("block"), inputs),
    ]


def _mean(name: str, dims: Sequence[DimLike], x: RaggedTensor) -> RaggedTensor:
    """Return the mean of each place and the two after it."""
    third = 1 / 3
    return ragged.compute(
        name, dims, lambda b, t, i: third * x[b, t, i] + third * x[b, t + 1, i] + third * x[b, t + 2, i]
    )


def vgemm_variants(sizes: npt.NDArray[np.integer[Any]], rng: np.random.Generator) -> list[Variant]:
    """Return products of sizes (m, n, k), with whole panels of columns, and whole tiles of rows, apart."""
    a = [rng.standard_normal((m, k), np.float32) for m, _, k in sizes]
    b = [rng.standard_normal((k, n), np.float32) / np.float32(k**0.5) for _, n, k in sizes]
    inputs = {"A": gemm.matrices("a", a), "B": gemm.matrices("b", b)}
    return [
        Variant("guarded panels", lambda: gemm.program(WIDTH, split=False), inputs),
        Variant("whole panels apart", lambda: gemm.program(WIDTH), inputs),
        Variant("whole panels and tiles of rows apart", lambda: _rows_apart(fused=False), inputs),
        Variant("whole panels and, as one loop, tiles of rows", lambda: _rows_apart(fused=True), inputs),
    ]


def _rows_apart(*, fused: bool) -> Schedule:
    """Return the products with whole tiles of rows in a loop of their own, or that and the other as one again."""
    s = gemm.program(WIDTH, split=False)
    (product,), packed = s.outputs, s.tensor("packed")
    loops = s.partition_loop(product.loops[2], f"m(i) // {WIDTH} * {WIDTH}")
    rows = (s.fuse_horizontally(*loops),) if fused else loops
    version_panels(s, (packed.loops[2], *rows), "p", "n(i)", WIDTH)
    return s


def trmm_variants(side: int, rng: np.random.Generator) -> list[Variant]:
    """Return a triangular product, its sums in one loop up to the diagonal, and split at the diagonal's block."""
    inputs = {
        "L": rng.standard_normal((side, side), np.float32) / np.float32(side**0.5),
        "B": rng.standard_normal((side, side), np.float32),
    }

    def whole() -> Schedule:
        n, m = ragged.size("n"), ragged.size("m")
        i, j, k = ragged.dim("i"), ragged.dim("j"), ragged.dim("k")
        panel, lane = ragged.dim("panel"), ragged.dim("lane")
        left = ragged.input_tensor("L", [(i, n), (k, n)])
        b = ragged.input_tensor("B", [(k, n), (j, m)])
        c = ragged.compute(
            "C",
            [(panel, (m + (WIDTH - 1)) // WIDTH), (i, n), (lane, ragged.minimum(WIDTH, m - panel * WIDTH))],
            lambda p, r, w: ragged.sum(r + 1, lambda q: left[r, q] * b[q, p * WIDTH + w]),
        )
        s = Schedule(c, name="trmm")
        s.reorder_dimensions(c.dims[1], c.dims[0], c.dims[2])
        s.fuse_dimensions(c.dims[0], c.dims[2])
        return s

    return [
        Variant("sums in one loop", whole, inputs),
        Variant("split at the diagonal", lambda: trmm_program(WIDTH), inputs),
        Variant("whole panels and the last as one loop", lambda: _together(trmm_program(WIDTH)), inputs),
    ]


def _together(s: Schedule) -> Schedule:
    """Fuse the loop over whole panels and the one over the last panel horizontally."""
    s.fuse_horizontally(s.loop("p"), s.loop("p_rest"))
    return s
