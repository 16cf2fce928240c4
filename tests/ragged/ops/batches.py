"""Random batches for operators: lengths that break tiles, and comparing with padded references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import ragged
from ragged import Lengths, RaggedArray
from tests.support.agreement import BOUND, error

EDGES = (0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 49)
"""Lengths on both sides of every tile's edge, and no row."""

LENGTHS = st.lists(st.sampled_from(EDGES), max_size=6)
"""The lengths of a batch, which may be empty."""
PAIRS = st.lists(st.tuples(st.sampled_from(EDGES), st.sampled_from(EDGES)), max_size=6)
"""The lengths of queries and of keys."""
SEEDS = st.integers(0, 2**31)


def normal(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def rows(lengths: Sequence[int], *inner: int, seed: int = 0) -> RaggedArray:
    """Return a batch (B, n, *inner) of normal numbers."""
    return ragged.array(normal(seed, sum(lengths), *inner), lengths=np.array(lengths, np.int32))


def matrices(pairs: Sequence[tuple[int, int]], seed: int = 0) -> RaggedArray:
    """Return a batch (B, n, m) of normal numbers."""
    n, m = (np.array([pair[k] for pair in pairs], np.int32) for k in (0, 1))
    return RaggedArray(normal(seed, int((n * m).sum())), (len(pairs), Lengths((0,), n), Lengths((0,), m)))


def weights(shapes: Mapping[str, tuple[int, ...]], seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Return a state of matrices with the deviation 1 / sqrt(fan-in)."""
    return {
        name: normal(seed + place, *shape) / np.float32(np.sqrt(shape[-1]) if len(shape) > 1 else 1)
        for place, (name, shape) in enumerate(shapes.items())
    }


def check(result: RaggedArray, expected: np.ndarray[Any, Any], of: RaggedArray) -> None:
    """Compare a result that has the lengths of `of` with a padded array, each row of the batch by itself."""
    assert result.dtype == np.float32 and len(result) == len(of) == len(expected)
    for mine, theirs, given in zip(result, expected, of, strict=True):
        whole = theirs[tuple(map(slice, given.shape[:-1]))][..., : mine.shape[-1]]
        assert error(np.asarray(mine, np.float64), whole) <= BOUND
