"""Ragged functions that tests of calls, files and caches share, with what they compute."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ragged
from ragged.api.schedule import RaggedSchedule

WIDE = 16
LENGTHS = (3, 0, 5, 1)


def scaled(wide: int = WIDE) -> RaggedSchedule:
    """Return `B = 2 * A` over rows."""
    batch, length, w = ragged.dim("batch"), ragged.dim("len"), ragged.dim("wide")
    n = ragged.length_fn("n", over=batch)
    a = ragged.input_tensor("A", [(batch, ragged.size("B")), (length, n(batch)), (w, wide)])
    return RaggedSchedule(ragged.compute("B", a.dims, lambda b, t, w: 2 * a[b, t, w]), name="scaled")


def attention() -> RaggedSchedule:
    """Return two results: `P`, a matrix for each row, and `O`, rows of it with a parameter `W`."""
    batch, length, w, u = (ragged.dim(name) for name in ("batch", "len", "wide", "u"))
    n = ragged.length_fn("n", over=batch)
    a = ragged.input_tensor("A", [(batch, ragged.size("B")), (length, n(batch)), (w, WIDE)])
    weights = ragged.parameter("W", [(w, WIDE), (u, WIDE)])
    v = ragged.compute("V", a.dims, lambda b, t, i: ragged.sum(WIDE, lambda j: a[b, t, j] * weights[j, i]))
    p = ragged.compute(
        "P",
        [*a.dims[:2], (u, n(batch))],
        lambda b, t, u: ragged.exp(0.1 * ragged.sum(WIDE, lambda w: a[b, t, w] * a[b, u, w])),
    )
    o = ragged.compute("O", a.dims, lambda b, t, w: ragged.sum(n(b), lambda u: p[b, t, u] * v[b, u, w]))
    return RaggedSchedule(p, o, name="attention")


def lengths_by_name() -> RaggedSchedule:
    """Return `S`, a row of squares for each of the lengths `m`, which no argument tells."""
    batch, length = ragged.dim("batch"), ragged.dim("len")
    m = ragged.length_fn("m", over=batch)
    x = ragged.input_tensor("x", [(batch, ragged.size("B"))])
    return RaggedSchedule(
        ragged.compute("S", [x.dims[0], (length, m(batch))], lambda b, t: x[b] * t), name="squares"
    )


SCHEDULES: dict[str, Callable[[], RaggedSchedule]] = {"scaled": scaled, "attention": attention}


def weights(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((WIDE, WIDE)).astype(np.float32)


def params_of(name: str, seed: int = 0) -> dict[str, np.ndarray]:
    return {"W": weights(seed)} if name == "attention" else {}


def rows(lengths=LENGTHS, seed: int = 1) -> ragged.RaggedArray:
    """Return an argument `A` of these lengths."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((sum(lengths), WIDE)).astype(np.float32)
    return ragged.array(values, lengths=np.array(lengths, np.int32))


def attended(a: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one row of `attention`'s results, in float64."""
    a, w = a.astype(np.float64), w.astype(np.float64)
    p = np.exp(0.1 * a @ a.T)
    return p, p @ (a @ w)


def bits(result) -> list[bytes]:
    """Return the bytes of one result or of several."""
    found = result.values() if isinstance(result, dict) else [result]
    return [(each.values if isinstance(each, ragged.RaggedArray) else each).tobytes() for each in found]
