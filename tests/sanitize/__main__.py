"""`make sanitize`: the native code under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer.

    python -m tests.sanitize

Builds the worker team with a test in C++, and both extensions, in build/sanitize; runs that test, and the tests of the
linearizer, the readers and calls. Planted faults come first: a sanitizer that does not report one checks nothing.
Prints a line for each part; exits with 1 after a report or a failure. Needs g++ with its sanitizers, as Debian's has
them.
"""

from __future__ import annotations

import os
import sys
import time

from tests.sanitize.checks import FOLDER, extensions, planted, pytest_under, team, team_program

TESTS = (
    "tests/linearize",
    "tests/ragged/runtime/test_orders.py",
    "tests/ragged/runtime/test_output_memory.py",
    "tests/ragged/runtime/test_team.py",
)
# Structures of a million nodes, and what compiles models: minutes, with nothing native that the others leave out.
LEFT_OUT = ("test_extremes.py", "test_conllu.py", "test_facts.py", "test_treebank.py", "test_lending.py")


def main() -> int:
    """Run all parts, and return the exit status."""
    begin, processor = time.monotonic(), os.times()
    address, thread = team_program("address,undefined"), team_program("thread")
    failed = 0
    for outcome in (
        planted(address, "overflow", "AddressSanitizer: heap-buffer-overflow"),
        planted(thread, "race", "ThreadSanitizer: data race"),
        team(address),
        team(thread, "no-fork"),
        pytest_under(extensions("address,undefined"), TESTS, LEFT_OUT),
    ):
        failed += not outcome.fine
        print(outcome.line, flush=True)
        if not outcome.fine:
            print(outcome.text, flush=True)
    spent, now = time.monotonic() - begin, os.times()
    used = sum(now[:4]) - sum(processor[:4])
    print(f"{failed} failures; {spent:.0f} s, {used:.0f} s of processor time; built in {FOLDER}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
