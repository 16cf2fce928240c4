"""A program with answers that name their worker, and scripts that run it where a test's own process must not."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ragged.codegen.build import compile_program
from ragged.codegen.entry import Entry
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller

ROOT = Path(__file__).resolve().parents[3]
ALL_COME = 10**10

ROUNDS = """\
program("rounds")

workers: call()
n: call()
steps: call()
x: payload(int64[n])
mine: workspace(int64[n])
out: output(int64[n])
came: output(int64[1])

with kernel:
    for w in team(workers):
        begin = w * n // workers
        for i in serial((w + 1) * n // workers - begin):
            mine[begin + i] = x[begin + i]
        for s in serial(steps):
            barrier(team)
            for i in serial((w + 1) * n // workers - begin):
                out[begin + i] = mine[n - 1 - (begin + i)] + s
            barrier(team)
            for i in serial((w + 1) * n // workers - begin):
                mine[begin + i] = out[begin + i]
        if w == 0:
            came[0] = workers
"""
"""Turns `x` round `steps` times, adding the step's number, so that each worker reads what another has written."""


def compiled() -> Entry:
    return compile_program(parse(ROUNDS)).entry(StageKind.KERNEL)


def check(call: Caller, n: int, steps: int = 3, spin_ns: int = ALL_COME) -> int:
    """Make a call, compare its answer, and return how many workers there were."""
    x = np.arange(n, dtype=np.int64) ** 2
    got = call({"n": n, "steps": steps, "x": x}, spin_ns=spin_ns)
    want = (x if steps % 2 == 0 else x[::-1]) + steps * (steps - 1) // 2
    np.testing.assert_array_equal(got["out"] if steps else want, want)
    return int(got["came"][0])


def in_child(action: Callable[[], object]) -> int:
    """Run `action` in a child made by fork and return its exit status: 0, or 1 if it raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads: they are what is tested
        child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_script(body: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a text as the main module of a process of its own, with what is above at hand."""
    path = folder / "script.py"
    path.write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.ragged.runtime.hardship import *\n" + body,
        encoding="utf-8",
    )
    command = [sys.executable, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=folder)
