"""Comparing a compiled model's results with the oracle's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cortex import ra
from cortex.compiler import Output

BOUND = 1e-5
"""The largest error that a float32 result may have."""

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A structure of a batch, by its place there, whose results are off in `output` by `error`."""

    structure: int
    output: str
    error: float


@dataclass(slots=True)
class Agreement:
    """How far the results of one batch are from the oracle's: the largest error, and what is off."""

    largest: float = 0.0
    wrong: list[Wrong] = field(default_factory=list)

    def add(self, structure: int, output: str, error: float) -> None:
        """Count one structure's error in one output."""
        self.largest = max(self.largest, error)
        if error > BOUND:
            self.wrong.append(Wrong(structure, output, error))


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


def check(
    model: ra.Model,
    params: Mapping[str, Array],
    trees: Sequence[object],
    outs: Sequence[Output],
    advance: Callable[[], None],
) -> list[Agreement]:
    """Compare every root, and every other node, with `ra.evaluate`; return an agreement for each of `outs`.

    Each of `outs` holds the results of some first trees of `trees`. `advance` is called after each tree.
    """
    agreements = [Agreement() for _ in outs]
    nodes = [{name: out.nodes(name) for name in model.results} for out in outs]
    for index, tree in enumerate(trees):
        oracle = ra.evaluate(model, params, tree)
        assert isinstance(oracle, dict), "a list would have a list of results"
        for name in model.results:
            expected = oracle[name]
            for out, rows, agreement in zip(outs, nodes, agreements, strict=True):
                if index < len(out):
                    root = relative_error(out[name][index : index + 1], expected[-1:])
                    agreement.add(index, name, max(root, relative_error(rows[name][index], expected)))
        advance()
    return agreements
