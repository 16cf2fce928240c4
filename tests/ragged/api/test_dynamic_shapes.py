"""One function for all shapes: several axes at once, odd sizes, other processes, and the same bits in each."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import ragged

r, c, k = ragged.dim("r"), ragged.dim("c"), ragged.dim("k")
COLUMNS, INNER = (1, 15, 17, 49), (1, 767)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@cache
def product(threads: int) -> ragged.RaggedFunction:
    """X W^T of two inputs: rows, columns and the sum's length change from call to call."""
    m, n, own = ragged.size("M"), ragged.size("N"), ragged.size("K")
    x = ragged.input_tensor("X", [(r, m), (k, own)])
    w = ragged.input_tensor("W", [(c, n), (k, own)])
    y = ragged.compute("Y", [(r, m), (c, n)], lambda i, j: ragged.sum(k, lambda q: x[i, q] * w[j, q]))
    return ragged.compile(y, threads=threads)


@cache
def dense(threads: int, *, columns: int = 80, inner: int = 33) -> ragged.RaggedFunction:
    """X W^T with a parameter W: rows change from call to call."""
    x = ragged.input_tensor("X", [(r, ragged.size("M", 1, 64)), (k, inner)])
    w = ragged.parameter("W", [(c, columns), (k, inner)])
    y = ragged.compute("Y", [x.dims[0], w.dims[0]], lambda i, j: ragged.sum(k, lambda q: x[i, q] * w[j, q]))
    return ragged.compile(y, {"W": numbers(columns, inner, seed=1)}, threads=threads)


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("columns", COLUMNS)
def test_two_axes_at_once(columns, inner):
    for rows in (1, 2, 16, 33):
        x, w = numbers(rows, inner), numbers(columns, inner, seed=1)
        found = product(2)(X=x, W=w)
        np.testing.assert_allclose(found, x @ w.T, rtol=1e-4, atol=2e-4)
        assert found.tobytes() == product(1)(X=x, W=w).tobytes(), "the same bits for any threads"


def test_a_row_has_the_same_bits_whatever_comes_with_it():
    x = numbers(200, 33)
    want = dense(1)(X=x)
    for threads in (1, 2, 3):
        for rows in (*range(1, 34), 63, 64, 65, 127, 200):
            found = dense(threads)(X=x[:rows])
            assert found.tobytes() == want[:rows].tobytes(), (threads, rows)
    for first in (1, 5, 17):
        assert dense(2)(X=x[first:]).tobytes() == want[first:].tobytes()
    w = numbers(49, 33, seed=2)
    whole = product(2)(X=x, W=w)
    for columns in (1, 15, 16, 17, 48):
        np.testing.assert_array_equal(product(2)(X=x, W=w[:columns]), whole[:, :columns])


_OTHER_PROCESS = """
import sys
import numpy as np
import ragged
f = ragged.load(sys.argv[1])
assert not [name for name in sys.modules if name.partition(".")[0] in ("tvm", "z3")]
x = np.load(sys.argv[2])
for rows in (0, 1, 5, 23, 64, 131):
    sys.stdout.buffer.write(f(X=x[:rows]).tobytes())
assert [dict(shape.sizes) for shape in f.observed()] == [{"M": rows} for rows in (0, 1, 5, 23, 64, 131)]
"""


def test_a_file_in_another_process_at_shapes_never_compiled_for(tmp_path):
    x = numbers(131, 33)
    dense(2).save(tmp_path / "dense.ragged")
    np.save(tmp_path / "x.npy", x)
    arguments = [sys.executable, "-c", _OTHER_PROCESS, tmp_path / "dense.ragged", tmp_path / "x.npy"]
    done = subprocess.run(arguments, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"".join(dense(2)(X=x[:rows]).tobytes() for rows in (0, 1, 5, 23, 64, 131))


def test_tensors_between_operators_have_no_negative_extent():
    m = ragged.size("M")
    x = ragged.input_tensor("X", [(r, m)])
    pairs = ragged.compute("pairs", [(r, m - 1)], lambda i: x[i] + x[i + 1])
    y = ragged.compute("Y", [(c, 3)], lambda _: ragged.sum(r, lambda i: pairs[i]))
    f = ragged.compile(y)
    np.testing.assert_allclose(f(X=np.arange(4, dtype=np.float32)), [9.0] * 3)
    assert f(X=np.ones(1, np.float32)).tolist() == [0.0] * 3
    with pytest.raises(
        ragged.errors.DataError, match="'pairs' extends -1 in dimension 'r', and no extent is negative"
    ):
        f(X=np.ones(0, np.float32))
