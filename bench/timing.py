"""Kernels of one model in turns: answers are compared first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import cortex
from bench.results import Gained, spread
from bench.trees import Tree


def timed_in_turns(
    workload: str,
    hidden: int,
    functions: Mapping[str, cortex.RecursiveFunction],
    trees: Sequence[Tree],
    outputs: Sequence[str],
    rounds: int,
) -> list[Gained]:
    """Return a row for each function, by its variant; gains are over the first one.

    Raises:
        SystemExit: an answer differs from the first function's by more than 1e-5 of the largest, if that is above 1.
    """
    answers = {name: function(trees) for name, function in functions.items()}
    first = next(iter(answers.values()))
    for name, answer in answers.items():
        for output in outputs:
            error = np.abs(answer[output] - first[output]).max() / max(1.0, np.abs(first[output]).max())
            if not error <= 1e-5:
                raise SystemExit(f"{workload}, {name}: off by {error:.1e}")
    given = {
        name: function.linearize(trees) for name, function in functions.items()
    }  # what they ask for differs
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].extend(each / 1000 for each in function.kernel_times(given[name], 1))
    medians = {name: spread(mine) for name, mine in times.items()}
    slowest = next(iter(medians.values())).median
    return [
        Gained(workload, hidden, len(trees), name, own, slowest / own.median) for name, own in medians.items()
    ]
