"""Where helpers run: apart from the caller, on the processors that it may use, never more of them than those."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ragged.codegen.build import compile_program
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller
from ragged.runtime.team import usable_cores
from tests.ragged.runtime.hardship import ALL_COME, check, compiled, run_script

MILLISECOND = 1_000_000


@pytest.fixture(scope="module")
def entry():
    return compiled()


def allowed_of_helpers() -> list[str]:
    """Return the processors that each helper may use, as the system writes them."""
    tasks = [
        task for task in Path("/proc/self/task").iterdir() if (task / "comm").read_text() == "ragged-team\n"
    ]
    status = [(task / "status").read_text().splitlines() for task in tasks]
    return [line.split()[1] for lines in status for line in lines if line.startswith("Cpus_allowed_list")]


@pytest.mark.parametrize("workers", [3, 8])
def test_more_workers_than_processors(entry, workers):
    call = Caller([entry], {}, workers=workers)
    assert check(call, 50, steps=40, spin_ns=ALL_COME) == workers
    for _ in range(20):
        assert check(call, 50, spin_ns=MILLISECOND) <= usable_cores()


def test_one_processor_has_one_worker(tmp_path):
    body = """
import os
call = Caller([compiled()], {}, workers=2)
check(call, 50)
before = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(before)})
for _ in range(100):
    last = check(call, 50, spin_ns=10**6)
print(last, check(call, 50, steps=50))       # with a long spin time there are two, which take turns
os.sched_setaffinity(0, before)
for _ in range(200):
    last = check(call, 50, spin_ns=10**6)
print("back")
"""
    done = run_script(body, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 2\nback\n", "")


def test_helpers_keep_off_the_caller_s_processor(tmp_path):
    body = """
import os
from tests.ragged.runtime.test_processors import allowed_of_helpers
call = Caller([compiled()], {}, workers=2)
mine = sorted(os.sched_getaffinity(0))[:2]
os.sched_setaffinity(0, mine)
for _ in range(100):
    check(call, 50)
print(len(mine) < 2 or allowed_of_helpers() in ([str(mine[0])], [str(mine[1])]))
"""
    done = run_script(body, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


LATE = """\
program("late")

workers: call()
delay: call()
steps: call()
out: output(float32[workers])

with kernel:
    for w in team(workers):
        out[w] = 1.0
        if w == 0:
            for i in serial(delay):
                out[w] = out[w] * 0.5 + 1.0
        for s in serial(steps):
            barrier(team)
"""


def test_who_was_late_once_is_not_waited_for_asleep_ever_after():
    """Two workers can get into a step where each sleeps while the other waits for it, at every barrier."""
    call = Caller([compile_program(parse(LATE)).entry(StageKind.KERNEL)], {}, workers=2)
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        call({"delay": 2_000_000, "steps": 20_000}, spin_ns=ALL_COME)
        times.append(time.perf_counter() - begin)
    assert min(times) < 0.4, times
