"""Comparing a compiled model's results with the oracle's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from cortex import ra
from cortex.compiler import Output
from cortex.compiler.agreement import BOUND, relative_error

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A structure of a batch, by position, and the error of its results in `output`."""

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
                if index < out.num_structures:
                    root = relative_error(out[name][index : index + 1], expected[-1:])
                    agreement.add(index, name, max(root, relative_error(rows[name][index], expected)))
        for name in (*model.heads, *model.after):
            for out, agreement in zip(outs, agreements, strict=True):
                if index < out.num_structures:
                    agreement.add(index, name, relative_error(out.roots(name)[index], oracle[name]))
        advance()
    return agreements
