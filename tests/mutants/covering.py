"""Which files of tests run which lines of the compiler: each file runs once, measured by coverage.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.mutants.run import ROOT, Outcome

FOLDERS = ("tests/ragged", "tests/refusals", "tests/ra", "tests/recursive_tc")
RANDOM = ("tests/test_random_models.py", "tests/test_random_schedules.py")
LEFT_OUT = "tests/ragged/runtime/"
"""Tests of processes, threads and signals: they run few lines of the compiler."""
MOST_SECONDS = 40.0
"""How long the tests of a mutant's lines take at most."""


def all_tests() -> Iterator[str]:
    """Yield the files of tests that may run lines of primitives, passes and layouts."""
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("test_*.py")):
        name = str(path.relative_to(ROOT))
        if not name.startswith(LEFT_OUT):
            yield name
    yield from RANDOM


def covering(measured: Iterable[Outcome], file: Path, lines: range) -> Iterator[str]:
    """Yield files of tests that run one of the lines of a file, the quickest first, for `MOST_SECONDS` in all."""
    left = MOST_SECONDS
    for outcome in sorted(measured, key=lambda each: each.seconds):
        if not outcome.lines.get(file, frozenset()).isdisjoint(lines):
            left -= outcome.seconds
            if left < 0:
                return
            yield from outcome.run.tests
