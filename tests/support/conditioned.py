"""Whether an example can be expected to agree with the oracle: not where rounding alone moves its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import cortex
from cortex import ra
from tests.support.agreement import Rows, error

SHAKE = 2.0**-22
WELL_CONDITIONED = 1e-6
"""How much the oracle may move when its parameters do by `SHAKE`: beyond it, float32 cannot reach the bound."""


def well_conditioned(
    model: ra.Model, params: dict[str, Any], batch: list[cortex.Node], expected: Sequence[Rows]
) -> bool:
    random = np.random.default_rng(0)
    shaken = {
        name: array * (1.0 + SHAKE * random.choice([-1.0, 1.0], array.shape))
        for name, array in params.items()
    }
    moved = ra.evaluate(model, shaken, batch)
    pairs = [(m[name], e[name]) for m, e in zip(moved, expected, strict=True) for name in e]
    return all(np.isfinite(e).all() and error(m, e) <= WELL_CONDITIONED for m, e in pairs)
