"""Products with ragged rows, of features that a size says, are computed in register tiles."""

from collections.abc import Callable
from functools import cache
from inspect import signature

import numpy as np
import pytest

import ragged
from ragged.api.tensors import RaggedTensor
from ragged.api.values import Value

LENGTHS = (3, 0, 17, 70, 1)
FEATURES, COLUMNS = 20, 37
BATCH, ROW, OTHER = ragged.dim("batch"), ragged.dim("row"), ragged.dim("other")
FEATURE, SECOND, COLUMN = ragged.dim("feature"), ragged.dim("second"), ragged.dim("column")
COUNT, LENGTH = ragged.size("B"), ragged.length_fn("n", over=BATCH)
D, WIDTH = ragged.size("D"), ragged.size("O")
SEQUENCE = [(BATCH, COUNT), (ROW, LENGTH(BATCH)), (FEATURE, D)]
SCORES = [(BATCH, COUNT), (ROW, LENGTH(BATCH)), (OTHER, LENGTH(BATCH))]


def sequence(name: str) -> RaggedTensor:
    """Rows of features, of sequences of different lengths."""
    return ragged.input_tensor(name, SEQUENCE)


def matrix(name: str) -> RaggedTensor:
    """A matrix that is given in a call, with a row for each column of the result."""
    return ragged.input_tensor(name, [(COLUMN, WIDTH), (FEATURE, D)])


def linear() -> tuple[RaggedTensor, Callable[..., object]]:
    x, w = sequence("x"), matrix("w")
    out = [*SEQUENCE[:2], (COLUMN, WIDTH)]
    made = ragged.compute("y", out, lambda b, t, o: ragged.sum(D, lambda d: x[b, t, d] * w[o, d]) + 1.0)
    return made, lambda x, w: x @ w.T + 1


def gated() -> tuple[RaggedTensor, Callable[..., object]]:
    x, w, v = sequence("x"), matrix("w"), matrix("v")

    def product(b: Value, t: Value, o: Value, by: RaggedTensor) -> Value:
        return ragged.sum(D, lambda d: x[b, t, d] * by[o, d])

    out = [*SEQUENCE[:2], (COLUMN, WIDTH)]
    made = ragged.compute("y", out, lambda b, t, o: ragged.relu(product(b, t, o, w)) * product(b, t, o, v))
    return made, lambda x, w, v: np.maximum(x @ w.T, 0) * (x @ v.T)


def gram() -> tuple[RaggedTensor, Callable[..., object]]:
    x = sequence("x")
    out = [(BATCH, COUNT), (FEATURE, D), (SECOND, D)]
    made = ragged.compute("y", out, lambda b, d, e: ragged.sum(LENGTH(b), lambda t: x[b, t, d] * x[b, t, e]))
    return made, lambda x: x.T @ x


def mixed() -> tuple[RaggedTensor, Callable[..., object]]:
    a, x = ragged.input_tensor("a", SCORES), sequence("x")
    made = ragged.compute(
        "y", SEQUENCE, lambda b, t, d: ragged.sum(LENGTH(b), lambda u: a[b, t, u] * x[b, u, d])
    )
    return made, lambda a, x: a @ x


PROGRAMS = {each.__name__: each for each in (linear, gated, gram, mixed)}


@cache
def arrays() -> dict[str, list[np.ndarray]]:
    """The rows of each input by its name, one array for each sequence; matrices once."""
    random = np.random.default_rng(0)
    rows = {"x": [random.standard_normal((n, FEATURES), np.float32) for n in LENGTHS]}
    dense = {name: [random.standard_normal((COLUMNS, FEATURES), np.float32)] for name in "wv"}
    return {**rows, **dense, "a": [random.standard_normal((n, n), np.float32) for n in LENGTHS]}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_products_with_ragged_rows_are_tiled(name: str, threads: int) -> None:
    tensor, expected = PROGRAMS[name]()
    function = ragged.compile(tensor, threads=threads)
    assert "_acc" in function.show("loops")
    given = {each: arrays()[each] for each in signature(expected).parameters}
    call = {each: ragged.array(rows) if len(rows) > 1 else rows[0] for each, rows in given.items()}
    found = function(**call)
    of_each = [{each: rows[k % len(rows)] for each, rows in given.items()} for k in range(len(LENGTHS))]
    for got, own in zip(found, of_each, strict=True):
        want = np.asarray(expected(**{each: rows.astype(np.float64) for each, rows in own.items()}))
        np.testing.assert_allclose(np.asarray(got).reshape(want.shape), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_of_columns_of_ragged_rows_are_vectorized(threads: int) -> None:
    x = sequence("x")
    tensor = ragged.compute(
        "y",
        [(FEATURE, D)],
        lambda d: ragged.sum(COUNT, lambda b: ragged.sum(LENGTH(b), lambda t: x[b, t, d])),
    )
    function = ragged.compile(tensor, threads=threads)
    assert "in vectorized" in function.show("loops")
    want = np.concatenate(arrays()["x"]).astype(np.float64).sum(0)
    np.testing.assert_allclose(function(x=ragged.array(arrays()["x"])), want, rtol=1e-4, atol=1e-4)


def test_rows_are_tiled_where_the_number_of_columns_is_known() -> None:
    """The sum's own loop, of a size, is none over rows."""
    x, w = sequence("x"), ragged.parameter("w", [(COLUMN, COLUMNS), (FEATURE, D)])
    out = [*SEQUENCE[:2], (COLUMN, COLUMNS)]
    tensor = ragged.compute(
        "y", out, lambda b, t, o: ragged.relu(ragged.sum(D, lambda d: x[b, t, d] * w[o, d]))
    )
    function = ragged.compile(tensor, {"w": arrays()["w"][0]})
    assert "split, s.loop('d')" not in function.show("schedule")
    found = function(x=ragged.array(arrays()["x"]))
    for got, rows in zip(found, arrays()["x"], strict=True):
        np.testing.assert_allclose(
            np.asarray(got), np.maximum(rows @ arrays()["w"][0].T, 0), rtol=1e-4, atol=1e-4
        )
