"""The search: chunks in processes of their own, several at once, until all are done or time is up."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.fuzz.chunk import Chunk, Result
from tests.support.tally import Tally

ROOT = Path(__file__).resolve().parents[2]
CHUNK = 100


def chunks(seed: int, examples: int) -> list[Chunk]:
    """Return the chunks of so many examples."""
    whole, rest = divmod(examples, CHUNK)
    sizes = [CHUNK] * whole + ([rest] if rest else [])
    return [Chunk(seed, number, size) for number, size in enumerate(sizes)]


def command(chunk: Chunk, *, shrink: bool = True) -> list[str]:
    """Return the command that runs one chunk and prints its result."""
    options = ["--seed", str(chunk.seed), "--chunk", str(chunk.number), "--size", str(chunk.size)]
    return [sys.executable, "-m", "tests.fuzz", *options, *([] if shrink else ["--no-shrink"])]


@dataclass
class _Running:
    chunk: Chunk
    process: subprocess.Popen[str]
    out: IO[str]
    errors: IO[str]

    @classmethod
    def start(cls, chunk: Chunk, shrink: bool) -> _Running:
        out, errors = (tempfile.TemporaryFile("w+", encoding="utf-8") for _ in range(2))  # noqa: SIM115
        process = subprocess.Popen(
            command(chunk, shrink=shrink), stdout=out, stderr=errors, cwd=ROOT, text=True
        )
        return cls(chunk, process, out, errors)

    def result(self) -> Result:
        """Return the result of a process that has ended; one that died is a failure."""
        with self.out, self.errors:
            self.out.seek(0)
            self.errors.seek(0)
            if self.process.returncode == 0:
                return Result.of_json(json.loads(self.out.read().splitlines()[-1]))
            said = f"the process ended with {self.process.returncode}\n{self.errors.read()}"
            return Result(self.chunk, 0, Tally(), said)


def search(todo: list[Chunk], *, jobs: int, seconds: float, shrink: bool) -> Iterator[Result]:
    """Run chunks, `jobs` at once, and yield their results as they come; none is begun after `seconds`."""
    until = time.monotonic() + seconds
    pending, running = list(todo), list[_Running]()
    try:
        while running or (pending and time.monotonic() < until):
            while pending and len(running) < jobs and time.monotonic() < until:
                running.append(_Running.start(pending.pop(0), shrink))
            ended = [each for each in running if each.process.poll() is not None]
            running = [each for each in running if each not in ended]
            yield from (each.result() for each in ended)
            if not ended:
                time.sleep(0.1)
    finally:
        for each in running:
            each.process.terminate()
            each.process.wait()
