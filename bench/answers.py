"""What is right: a peer's answers are compared with the recursion itself, in float64, before it is timed."""

from __future__ import annotations

import numpy as np

from bench.models import MODELS
from bench.peers.job import Answers, Array
from bench.process import PeerProcess
from bench.workloads import Case
from cortex import ra

_TOGETHER = 20
"""So many trees are evaluated at once: parameters are widened once for all of them, and all their states fit."""


def oracle(case: Case) -> dict[int, dict[str, Array]]:
    """Return the float64 answers at the root of each tree that is timed, by the tree's number."""
    timed = sorted({number for batches in case.batches for batch in batches.timed for number in batch})
    outputs = MODELS[case.workload.cell].outputs
    found = {}
    for begin in range(0, len(timed), _TOGETHER):
        numbers = timed[begin : begin + _TOGETHER]
        results = ra.evaluate(case.model, case.job.params, [case.trees[number] for number in numbers])
        for number, result in zip(numbers, results, strict=True):
            assert isinstance(result, dict)
            found[number] = {name: result[name][-1] for name in outputs}  # in post-order the root is last
    return found


def largest_error(case: Case, peer: PeerProcess, wanted: dict[int, dict[str, Array]]) -> float:
    """Return the largest error of a peer, max|a - b| / max(1, max|b|) at each root, over all batches to be timed.

    It is infinite where a number is missing, or is none.
    """
    worst = 0.0
    for batches in case.batches:
        for batch in batches.timed:
            answers = peer.answers(batch)
            for name in MODELS[case.workload.cell].outputs:
                expected = np.stack([wanted[number][name] for number in batch])
                worst = max(worst, _error(answers, name, expected))
    return worst


def _error(answers: Answers, name: str, expected: Array) -> float:
    result = answers.get(name)
    if result is None or result.shape != expected.shape or not np.isfinite(result).all():
        return float("inf")
    roots = len(expected)
    scale = np.maximum(1.0, np.abs(expected).reshape(roots, -1).max(axis=1))
    return float((np.abs(result - expected).reshape(roots, -1).max(axis=1) / scale).max())
