"""Sizes solved from the arrays of a call, through affine expressions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragged
from ragged.compiled.sizes import Affine, SizeEquation, solve_sizes
from ragged.errors import DataError


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@cache
def stacked():
    """Rows of X (16 T + 3) and of Z (T + S) below each other: two sizes from two arrays."""
    t, s = ragged.size("T"), ragged.size("S")
    r, c = ragged.dim("r"), ragged.dim("c")
    x = ragged.input_tensor("X", [(r, 16 * t + 3), (c, 4)])
    z = ragged.input_tensor("Z", [(r, t + s), (c, 4)])
    rows = 17 * t + s + 3
    y = ragged.compute(
        "Y",
        [(r, rows), (c, 4)],
        lambda i, j: ragged.where(
            i < 16 * t + 3, x[ragged.minimum(i, 16 * t + 2), j], z[ragged.maximum(i - 16 * t - 3, 0), j]
        ),
    )
    return ragged.compile(y, threads=2)


@pytest.mark.parametrize(("t", "s"), [(0, 1), (1, 0), (3, 5), (200, 1)])
def test_two_sizes_of_two_arrays(t, s):
    x, z = numbers(16 * t + 3, 4), numbers(t + s, 4)
    np.testing.assert_array_equal(stacked()(X=x, Z=z), np.concatenate([x, z]))
    np.testing.assert_array_equal(stacked()(X=x, Z=z, T=t, S=s), np.concatenate([x, z]))


@pytest.mark.parametrize(
    ("x", "z", "sizes", "message"),
    [
        (
            20,
            2,
            {},
            "Y: 'X' extends 20 in dimension 'r', which is 16 * T + 3\n"
            "  because: T would be 17/16, and a size is an integer from 0 up",
        ),
        (
            2,
            2,
            {},
            "Y: 'X' extends 2 in dimension 'r', which is 16 * T + 3\n"
            "  because: T would be -1/16, and a size is an integer from 0 up",
        ),
        (
            35,
            1,
            {},
            "Y: 'Z' extends 1 in dimension 'r', which is T + S\n"
            "  because: S would be -1, and a size is an integer from 0 up; Y: 'X' has T = 2",
        ),
        (
            35,
            2,
            {"T": 3},
            "Y: 'X' extends 35 in dimension 'r', and 16 * T + 3 is 51\n  because: Y: 'T' has T = 3",
        ),
        (35, 2, {"T": -3}, "Y: 'T' is -3, and no size is negative"),
    ],
)
def test_what_solves_to_no_size(x, z, sizes, message):
    with pytest.raises(DataError) as error:
        stacked()(X=numbers(x, 4), Z=numbers(z, 4), **sizes)
    assert str(error.value) == message


def test_a_size_that_no_array_gives_alone():
    t, s, r = ragged.size("T"), ragged.size("S"), ragged.dim("r")
    x = ragged.input_tensor("X", [(r, t + s)])
    y = ragged.compute("Y", [(r, t)], lambda i: x[i] + 1.0)
    f = ragged.compile(y)
    with pytest.raises(DataError, match="'T' is not known"):
        f(X=numbers(5))
    np.testing.assert_array_equal(f(X=numbers(5), T=2), numbers(5)[:2] + 1)
    with pytest.raises(DataError, match="S would be -1"):
        f(X=numbers(5), T=6)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=3),
    st.lists(st.tuples(st.lists(st.integers(-3, 3), min_size=3, max_size=3), st.integers(-4, 4)), max_size=5),
)
def test_solutions_are_those_that_linear_algebra_finds(values, rows):
    names = [f"s{k}" for k in range(len(values))]
    equations = []
    for coefficients, constant in rows:
        terms = tuple((n, c) for n, c in zip(names, coefficients, strict=False) if c)
        extent = Affine(terms, constant)
        equations.append(SizeEquation(extent, extent.at(dict(zip(names, values, strict=True))), "x", "r"))
    known: dict[str, tuple[int, str]] = {}
    solve_sizes(equations, known)
    matrix = np.array([[dict(e.extent.terms).get(n, 0) for n in names] for e in equations]).reshape(
        -1, len(names)
    )
    rank = np.linalg.matrix_rank(matrix) if len(matrix) else 0
    for name, value in zip(names, values, strict=True):
        unit = np.eye(len(names), dtype=int)[names.index(name)]
        grown = np.linalg.matrix_rank(np.vstack([matrix, unit]))
        assert (name in known) == (grown == rank), "determined if its unit vector is in the row space"
        assert known.get(name, (value, ""))[0] == value


def test_no_rows_and_rows_out_of_the_stated_range():
    t, r, k = ragged.size("T", 1, 2), ragged.dim("r"), ragged.dim("k")
    x = ragged.input_tensor("X", [(r, 16 * t), (k, 5)])
    y = ragged.compute("Y", [(r, 16 * t)], lambda i: ragged.sum(k, lambda q: x[i, q]))
    f = ragged.compile(y)
    for rows in (0, 16, 32, 4096):
        found = f(X=numbers(rows, 5))
        assert found.shape == (rows,)
        np.testing.assert_allclose(found, numbers(rows, 5).sum(1), rtol=1e-4, atol=1e-5)


def test_the_text_of_affine_extents():
    texts = {
        Affine((("T", 16),)): "16 * T",
        Affine((("T", 1), ("S", -2)), 3): "T - 2 * S + 3",
        Affine((("T", -1),), -1): "-T - 1",
        Affine((), 0): "0",
        Affine((), -7): "-7",
    }
    assert {str(affine): text for affine, text in texts.items()} == {text: text for text in texts.values()}


def test_sizes_of_one_name_are_one_where_loops_are_compared():
    batch, n = (b := ragged.dim("batch")), ragged.length_fn("n", over=b)
    a = ragged.input_tensor("A", [(batch, ragged.size("B")), (ragged.dim("len"), n(batch))])
    p = ragged.compute("P", a.dims, lambda i, t: 2 * a[i, t])
    q = ragged.compute("Q", [(batch, ragged.size("B")), (ragged.dim("t"), n(batch))], lambda i, t: p[i, t])
    s = ragged.Schedule(q)
    s.compute_at(p, q.loops[0])
    assert ragged.compile(s)(A=ragged.array([[1, 2], [3]], dtype=np.float32)).to_list() == [[2, 4], [6]]
