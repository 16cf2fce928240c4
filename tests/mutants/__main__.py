"""Mutation testing: python -m tests.mutants --file ragged/transform/loops/split.py --sample 20.

Each mutant is one small change of a primitive, a pass or a layout. The tests that import the file's module, or else
those of what uses it, have to pass as the file is; then they run on the mutant, and are stopped after four times what
they took. Mutants run in a random order: those of an interrupted run are a sample. One that no test fails on is printed
as a survivor; the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.mutants.covering import all_tests, covering
from tests.mutants.mutate import mutants
from tests.mutants.run import ROOT, Outcome, Run, module_of, outcomes

FOLDERS = ("ragged/transform", "ragged/passes", "ragged/layout")
LIMIT = 1200.0
"""Seconds that a file of tests takes at most without a mutant."""


def main() -> int:
    """Run the mutants that the command line asks for."""
    parser = argparse.ArgumentParser(prog="tests.mutants")
    parser.add_argument(
        "--file", action="append", help="a file or a folder; by default, primitives, passes and layouts"
    )
    parser.add_argument("--sample", type=int, help="how many mutants; by default, all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--measure",
        action="store_true",
        help="run all tests once, and then those of a mutant's lines too",
    )
    asked = parser.parse_args()
    files = [file for name in asked.file or FOLDERS for file in files_in(ROOT / name)]
    every = [(file, mutant) for file in files for mutant in mutants(file.read_text(encoding="utf-8"))]
    chosen = random.Random(asked.seed).sample(every, min(asked.sample or len(every), len(every)))
    named = {file: tests_for(file) for file, _ in chosen}

    tests = dict.fromkeys(test for found in named.values() for test in found)
    if asked.measure:
        tests |= dict.fromkeys(all_tests())
    took: dict[str, Outcome] = {}
    for outcome in outcomes([Run((test,), LIMIT, measured=asked.measure) for test in tests], asked.jobs):
        (test,) = outcome.run.tests
        if not outcome.passed:
            parser.error(f"tests fail without a mutant: {test}")
        took[test] = outcome
    runs = {}
    for file, mutant in chosen:
        found = tuple(dict.fromkeys((*named[file], *covering(took.values(), file, mutant.statement))))
        timeout = 10 + 4 * sum(took[test].seconds for test in found)
        if found:
            runs[Run(found, timeout, file, mutant.text)] = mutant
        else:
            print(f"no tests {file.relative_to(ROOT)}:{mutant.line}", flush=True)
    survived = len(chosen) - len(runs)
    for outcome in outcomes(list(runs), asked.jobs):
        assert outcome.run.file is not None
        mutant, name = runs[outcome.run], outcome.run.file.relative_to(ROOT)
        survived += outcome.passed
        word = "SURVIVED" if outcome.passed else "killed"
        print(f"{word:>8} {name}:{mutant.line}: {mutant.before!r} -> {mutant.after!r}", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} killed, of {len(every)} mutants")
    return 1 if survived else 0


def files_in(path: Path) -> list[Path]:
    """Return a file, or those of a folder, sorted."""
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def tests_for(path: Path) -> tuple[str, ...]:
    """Return the test files of a file; those of the files that use it where it has none of its own."""
    found = list(tests_of(path)) or [test for user in users_of(path) for test in tests_of(user)]
    return tuple(str(test.relative_to(ROOT)) for test in dict.fromkeys(found))


def tests_of(path: Path) -> Iterator[Path]:
    """Yield the test files that are named after a file, and then those that import its module."""
    module = module_of(path)
    folder = ROOT / "tests" / path.relative_to(ROOT).parts[0] / path.relative_to(ROOT).parts[1]
    files = sorted(folder.rglob("test_*.py"), key=lambda each: not each.stem.startswith(f"test_{path.stem}"))
    for test in files:
        if test.stem.startswith(f"test_{path.stem}") or f"from {module} import" in test.read_text(
            encoding="utf-8"
        ):
            yield test


def users_of(path: Path) -> Iterator[Path]:
    """Yield the product files that import a file's module: their tests are those of a helper."""
    module = module_of(path)
    for user in sorted((ROOT / "ragged").rglob("*.py")):
        if user.name != "__init__.py" and f"from {module} import" in user.read_text(encoding="utf-8"):
            yield user


if __name__ == "__main__":
    sys.exit(main())
