"""The resident team: many calls, many callers, fork, interpreter exit, Ctrl-C, and what an idle team costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.errors import UserError
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.runtime import _team
from ragged.runtime.call import Caller
from ragged.runtime.team import check_workers, helpers, usable_cores

ALL_COME = 10**10
ROOT = Path(__file__).resolve().parents[3]

SUMS = """\
program("sums")

workers: call()
n: call()
x: payload(float32[n], align=4)
part: workspace(float32[workers, 16])
out: output(float32[n + 1])

with kernel:
    for w in team(workers):
        part[w, 0] = 0.0
        begin = w * n // workers
        for i in serial((w + 1) * n // workers - begin):
            out[begin + i] = x[begin + i] + 1.0
            part[w, 0] += x[begin + i]
        barrier(team)
        if w == 0:
            out[n] = 0.0
            for k in serial(workers):
                out[n] += part[k, 0]
"""
"""Each worker its share of `x`, and its sum in storage of its own."""


@pytest.fixture(scope="module")
def entry():
    return compile_program(parse(SUMS)).entry(StageKind.KERNEL)


def expected(x):
    return np.append(x + 1, x.sum())


def check(call: Caller, n: int, spin_ns: int = ALL_COME) -> None:
    x = np.arange(n, dtype=np.float32)
    np.testing.assert_array_equal(call({"n": n, "x": x}, spin_ns=spin_ns)["out"], expected(x))


def threads_of(process: int) -> list[str]:
    """The names of the threads of a process."""
    return [path.read_text(encoding="utf-8").strip() for path in Path(f"/proc/{process}/task").glob("*/comm")]


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_shares(entry, workers):
    call = Caller([entry], {}, workers=workers)
    for n in (0, 1, 2, 7, 100):
        check(call, n)


def test_thousands_of_quick_calls(entry):
    call = Caller([entry], {}, workers=2)
    x = np.arange(9, dtype=np.float32)
    want = expected(x)
    for _ in range(5000):
        assert np.array_equal(call({"n": 9, "x": x})["out"], want)


def test_calls_with_pauses_in_which_helpers_fall_asleep(entry):
    call = Caller([entry], {}, workers=3)
    for pause in (0.0, 1e-5, 5e-5, 1e-4, 1e-3) * 20:
        time.sleep(pause)
        check(call, 50, spin_ns=30_000)


def test_calls_from_many_threads(entry):
    calls = [Caller([entry], {}, workers=workers) for workers in (1, 2, 3)]

    def work(seed: int) -> None:
        for i in range(200):
            check(calls[(seed + i) % 3], (seed * 7 + i) % 60, spin_ns=100_000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_helpers_are_shared_and_stay(entry):
    check(Caller([entry], {}, workers=3), 10)
    count = helpers()
    assert count >= 2
    for _ in range(50):
        check(Caller([entry], {}, workers=3), 10)
    assert helpers() == count
    assert threads_of(os.getpid()).count("ragged-team") == count


@pytest.mark.parametrize("workers", [8, 64])
def test_many_more_workers_than_processors(entry, workers):
    call = Caller([entry], {}, workers=workers)
    for n in (0, workers - 1, 1000):
        check(call, n)
    assert helpers() >= workers - 1
    assert _team.disband()


def test_a_child_of_fork_has_a_team_of_its_own(entry):
    call = Caller([entry], {}, workers=3)
    check(call, 10)
    child = os.fork()
    if child == 0:
        try:
            fresh = helpers() == 0
            for _ in range(20):
                check(call, 10)
            os._exit(0 if fresh and helpers() == 2 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    check(call, 10)


def test_a_fork_in_the_middle_of_calls(entry):
    call = Caller([entry], {}, workers=2)
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(lambda: [check(call, 40, 50_000) for _ in range(300)]) for _ in range(2)]
        for _ in range(5):
            child = os.fork()
            if child == 0:
                try:
                    check(call, 40)
                    os._exit(0)
                except BaseException:
                    os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        for each in running:
            each.result()


def test_an_idle_team_uses_no_processor(entry):
    check(Caller([entry], {}, workers=3), 10)
    time.sleep(0.05)
    begin = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - begin < 0.02


SCRIPT = """
import sys, time, threading, _thread
sys.path.insert(0, {root!r})
from tests.ragged.runtime.test_team import *
call = Caller([compile_program(parse(SUMS)).entry(StageKind.KERNEL)], {{}}, workers=3)
check(call, 10)
"""


def run_script(body: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SCRIPT.format(root=str(ROOT)) + body]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=ROOT)


def test_the_interpreter_ends_while_helpers_sleep_or_work():
    done = run_script("print(helpers())")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")
    daemon = "threading.Thread(target=lambda: [check(call, 40) for _ in range(10**6)], daemon=True).start()\n"
    done = run_script(daemon + "time.sleep(0.1)")
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_is_delivered_after_the_call():
    body = """
threading.Timer(0.2, _thread.interrupt_main).start()
try:
    while True:
        check(call, 1000)
except KeyboardInterrupt:
    check(call, 10)
    print("interrupted")
"""
    done = run_script(body)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


def test_how_many_workers():
    assert check_workers(None) == usable_cores() == len(os.sched_getaffinity(0))
    assert check_workers(3) == 3
    for wrong in (0, -1, 4097, 10**30, True, 2.0, "2"):
        with pytest.raises(UserError) as error:
            check_workers(wrong)
        assert str(error.value) == f"threads={wrong!r} is not a number of workers\n  fix: 1 to 4096, or None"


def test_a_missing_extension_is_said_plainly():
    hide = "import sys; sys.modules['ragged.runtime._team'] = None; import ragged.runtime.call"
    done = subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 1
    assert "ImportError: ragged.runtime: its native extension is not built" in done.stderr
