"""The error of results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

BOUND = 1e-5
"""The largest error that a float32 result may have."""

Array = npt.NDArray[Any]


def relative_error(result: Array, expected: Array) -> float:
    """Return max|a - b| / max(1, max|b|), in float64: 0 where there is nothing to compare.

    It is infinite where the shapes differ, or where a value is NaN or both are infinite.
    """
    if result.shape != expected.shape:
        return math.inf
    if not expected.size:
        return 0.0
    wide = expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = np.abs(result - wide).max() / max(1.0, np.abs(wide).max())
    return math.inf if math.isnan(error) else float(error)
