"""Products of matrices of different sizes, and of triangles, against float64."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragged
from ragged.api.inputs import InputLengths
from ragged.errors import DataError
from ragged.ops import gemm, triangle, trmm, vgemm

SIDES = st.integers(0, 9) | st.sampled_from([15, 63, 64, 65, 127, 130])
"""Around the edges of tiles of rows and panels of columns, and none at all."""


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(got: np.ndarray, want: np.ndarray) -> None:
    assert got.shape == want.shape
    assert np.abs(got - want).max(initial=0.0) <= 1e-5 * max(1.0, np.abs(want).max(initial=0.0))


@settings(max_examples=40)
@given(st.lists(st.tuples(SIDES, SIDES, SIDES), max_size=4), st.integers(0, 99))
def test_vgemm(sizes, seed):
    a = [drawn(seed, m, k) for m, k, _ in sizes]
    b = [drawn(seed + 1, k, n) for _, k, n in sizes]
    result = vgemm(a, b)
    assert len(result) == len(sizes)
    for own, left, right in zip(result.rows(), a, b, strict=True):
        want = left.astype(np.float64) @ right.astype(np.float64)
        close(
            np.asarray(own.to_padded(0) if isinstance(own, ragged.RaggedArray) else own).reshape(want.shape),
            want,
        )


@settings(max_examples=40)
@given(SIDES.filter(bool), SIDES, st.integers(0, 99))
def test_trmm_does_not_read_above_the_diagonal(n, m, seed):
    lower, b = drawn(seed, n, n), drawn(seed + 1, n, m)
    want = np.tril(lower).astype(np.float64) @ b.astype(np.float64)
    stored = triangle(lower)
    lower[np.triu_indices(n, 1)] = np.nan
    close(trmm(lower, b), want)
    close(trmm(stored, b), want)


def test_an_empty_product():
    assert trmm(drawn(0, 0, 0), drawn(0, 0, 3)).shape == (0, 3)


@pytest.mark.parametrize("threads", [1, 2, 3, 64])
def test_products_have_the_same_bits_for_any_number_of_workers(threads):
    a, b = [drawn(k, 5 * k, 70) for k in range(6)], [drawn(k, 70, 13 * k) for k in range(6)]
    assert vgemm(a, b, threads=threads).equal(vgemm(a, b, threads=1))


def test_sizes_that_do_not_agree():
    with pytest.raises(DataError, match=r"disagrees with .* on the lengths of dimension 'k'"):
        vgemm([drawn(0, 2, 3)], [drawn(0, 4, 5)])
    with pytest.raises(DataError, match="extends 4 in dimension"):
        trmm(drawn(0, 3, 3), drawn(0, 4, 2))


def test_what_is_no_matrix():
    with pytest.raises(DataError, match=r"'a\[0\]' is 1-D of float32, and a float32 matrix is needed"):
        vgemm([drawn(0, 2)], [drawn(0, 2, 2)])
    with pytest.raises(DataError, match=r"'b\[1\]' is 2-D of float32, and a float64 matrix is needed"):
        vgemm([drawn(0, 2, 2).astype(np.float64)] * 2, [drawn(0, 2, 2).astype(np.float64), drawn(0, 2, 2)])
    with pytest.raises(DataError, match=r"'a\[0\]' is 2-D of int64, and a float32 matrix is needed"):
        vgemm([np.ones((2, 2), np.int64)], [drawn(0, 2, 2)])
    with pytest.raises(DataError, match="'b' is of type str, and a matrix is needed"):
        trmm(drawn(0, 2, 2), "b")
    for shape in ((), (2,), (1, 2, 2)):
        with pytest.raises(DataError, match=rf"trmm: 'b' has {len(shape)} dimensions, not \(n, m\)"):
            trmm(drawn(0, 2, 2), drawn(0, *shape))


def shared(function, lengths, **sizes):
    """Return where the shares of the workers of a compiled operator begin for a batch's lengths."""
    sizes = {name: (size, name) for name, size in sizes.items()}
    if lengths:
        sizes["batches"] = (len(lengths["m"]), "batches")
    arrays = {name: (np.array(values, np.int32), name) for name, values in lengths.items()}
    bound = function._preludes.compute(InputLengths(sizes, arrays))
    (begins,) = [bound.values[table.name] for table in function.signature.shares]
    return begins


@pytest.mark.parametrize("workers", [2, 3, 8])
@pytest.mark.parametrize("sizes", [[(1408, 1408, 1408)], [(70 * k, 64 * k, 90) for k in (7, 1, 1, 3)]])
def test_the_work_of_products_is_shared_out_by_panels(sizes, workers):
    """The panels of all products are one sequence; a worker has its part of the multiply-adds, but for one panel."""
    function = ragged.compile(gemm.program(64), threads=workers)
    panels = [m * k for m, n, k in sizes for _ in range(-(-n // 64))]
    shares = shared(
        function, {"m": [m for m, _, _ in sizes], "n": [n for _, n, _ in sizes], "k": [k for *_, k in sizes]}
    )
    loads = [sum(panels[low:high]) for low, high in pairwise(shares)]
    assert len(loads) == workers and sum(loads) == sum(panels)
    assert max(loads) <= sum(panels) / workers + max(panels)
    if len(sizes) == 1 and workers == 2:
        assert loads[0] == loads[1]  # 22 panels


@pytest.mark.parametrize("m", [1, 64, 100])
def test_the_work_of_a_triangle_is_shared_out_by_rows_of_all_panels(m):
    program = sys.modules["ragged.ops.trmm"].program
    function = ragged.compile(program(64, whole=False), threads=4)
    shares = shared(function, {}, n=600, m=m)
    blocks = [6 * (block + 2) for _ in range(-(-m // 64)) for block in range(100)]
    loads = [sum(blocks[low:high]) for low, high in pairwise(shares)]
    assert sum(loads) == sum(blocks) and max(loads) <= 1.03 * sum(blocks) / 4


def test_whole_panels_and_blocks_of_rows_give_the_same_bits():
    lower, b = drawn(0, 130, 130), drawn(1, 130, 300)
    want = trmm(lower, b, threads=1)
    for workers in (2, 5):
        np.testing.assert_array_equal(trmm(lower, b, threads=workers), want)
