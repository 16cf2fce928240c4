"""Mutation testing: python -m tests.mutants --file ragged/transform/loops/split.py --sample 20.

Each mutant is one small change of a primitive or a pass. The tests that import the file's module run on it, in this
working tree, once as it is, which has to pass, and then with the mutant; the file is restored afterwards. A mutant that
no test fails on is printed as a survivor; the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.mutants.mutate import Mutant, mutants

ROOT = Path(__file__).parents[2]
FOLDERS = ("ragged/transform", "ragged/passes")


def main() -> int:
    """Run the mutants that the command line asks for."""
    parser = argparse.ArgumentParser(prog="tests.mutants")
    parser.add_argument("--file", action="append", help="by default, all primitives and passes")
    parser.add_argument("--sample", type=int, default=20, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--timeout", type=int, default=300, help="seconds for the tests of a mutant: more is a kill"
    )
    asked = parser.parse_args()
    names = asked.file or [
        str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")
    ]
    every = [(ROOT / name, mutant) for name in sorted(names) for mutant in mutants((ROOT / name).read_text())]
    chosen = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
    survivors = 0
    passed: set[str] = set()
    for path, mutant in chosen:
        name = path.relative_to(ROOT)
        found = list(tests_of(path)) or [test for user in users_of(path) for test in tests_of(user)]
        tests = [str(test.relative_to(ROOT)) for test in dict.fromkeys(found)]
        new = [test for test in tests if test not in passed]
        if new and not passes(new, asked.timeout):
            parser.error(f"tests fail without a mutant: {' '.join(new)}")
        passed |= set(new)
        outcome = run(path, mutant, tests, asked.timeout) if tests else "no tests"
        survivors += outcome != "killed"
        print(f"{outcome:>8} {name}:{mutant.line}: {mutant.before!r} -> {mutant.after!r}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} killed, of {len(every)} mutants")
    return 1 if survivors else 0


def tests_of(path: Path) -> Iterator[Path]:
    """Yield the test files that import a file's module, or that are named after it."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    folder = ROOT / "tests" / path.relative_to(ROOT).parts[0] / path.relative_to(ROOT).parts[1]
    for test in sorted(folder.rglob("test_*.py")):
        if test.stem.startswith(f"test_{path.stem}") or f"from {module} import" in test.read_text(
            encoding="utf-8"
        ):
            yield test


def users_of(path: Path) -> Iterator[Path]:
    """Yield the product files that import a file's module: their tests are those of a helper."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for user in sorted((ROOT / "ragged").rglob("*.py")):
        if user.name != "__init__.py" and f"from {module} import" in user.read_text(encoding="utf-8"):
            yield user


def run(path: Path, mutant: Mutant, tests: list[str], timeout: int) -> str:
    """Return whether the tests kill a mutant."""
    original = path.read_text(encoding="utf-8")
    try:
        path.write_text(mutant.text, encoding="utf-8")
        return "SURVIVED" if passes(tests, timeout) else "killed"
    finally:
        path.write_text(original, encoding="utf-8")


def passes(tests: Sequence[str], timeout: int) -> bool:
    """Return whether tests pass; a module that cannot be imported and tests that do not end fail.

    Raises:
        RuntimeError: pytest did not run them.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (0, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
