"""One chunk of examples: so many random runs from one seed, in a process of its own."""

from __future__ import annotations

import faulthandler
import traceback
from dataclasses import dataclass
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase

from tests.support.random_runs import Run, check_run, runs
from tests.support.tally import Tally

COMPILED = 5
"""Of a hundred examples, those that run as machine code too."""
PATIENCE = 300
"""Seconds after which an example is taken to hang: the process ends with the lines where every thread is."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The examples that `seed` and `number` say, as many as `size`."""

    seed: int
    number: int
    size: int


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a chunk: `failure` is the whole text of the first example that failed, shrunk, if one did."""

    chunk: Chunk
    examples: int
    tally: Tally
    failure: str | None

    def as_json(self) -> dict[str, Any]:
        chunk = {"seed": self.chunk.seed, "number": self.chunk.number, "size": self.chunk.size}
        return chunk | {"examples": self.examples, "tally": self.tally.as_json(), "failure": self.failure}

    @classmethod
    def of_json(cls, given: dict[str, Any]) -> Result:
        chunk = Chunk(given["seed"], given["number"], given["size"])
        return cls(chunk, given["examples"], Tally.of_json(given["tally"]), given["failure"])


def run_chunk(chunk: Chunk, *, shrink: bool = True, compiled: int = COMPILED) -> Result:
    """Run a chunk's examples to the first that fails, and mostly look for a smaller one that fails too."""
    tally, done = Tally(), 0

    @hypothesis.seed(chunk.seed * 1_000_003 + chunk.number)
    @hypothesis.settings(
        max_examples=chunk.size,
        deadline=None,
        database=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(runs(tally))
    def agrees(run: Run) -> None:
        nonlocal done
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        check_run(run, compiled=compiled)
        done += 1

    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    try:
        agrees()
    except Exception as error:
        return Result(chunk, done, tally, "".join(traceback.format_exception(error)))
    finally:
        faulthandler.cancel_dump_traceback_later()
    return Result(chunk, done, tally, None)
