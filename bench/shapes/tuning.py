"""What a measured search gains over predicted choices: `ragged.tune` on the dense workload."""

from __future__ import annotations

import time

import ragged
from bench.peers.shapes.compiled import CODE_BYTES, program
from bench.shapes.problems import Dense, ShapesProblem
from bench.shapes.results import Tuned


def tune_dense(problem: ShapesProblem, seconds: float) -> Tuned:
    """Search for so many seconds, for all shapes of a problem."""
    first = problem.shapes[0]
    assert isinstance(first, Dense)
    tensor, expected = program(problem.shapes)
    begin = time.monotonic()
    found = ragged.tune(
        tensor,
        {"W": problem.weights(first)},
        shapes=expected,
        seconds=seconds,
        threads=problem.threads,
        code_bytes=CODE_BYTES,
    )
    took = time.monotonic() - begin
    return Tuned(problem.threads, took, len(found.timed), found.gain, repr(found.best))
