"""Bits of results, by which points of a search are compared."""

from __future__ import annotations

import numpy as np

from ragged.data import RaggedArray


def bits_of(result: object) -> bytes:
    """Return the bits of results, with one NaN for all: which one an operation gives, IEEE 754 leaves open."""
    if isinstance(result, dict):
        return b"".join(bits_of(each) for each in result.values())
    values = np.ascontiguousarray(result.values if isinstance(result, RaggedArray) else result)
    unordered = values != values
    return (np.where(unordered, values.dtype.type("nan"), values) if unordered.any() else values).tobytes()
