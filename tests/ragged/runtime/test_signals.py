"""Ctrl-C: it comes when the native part of a call is done, and leaves nothing behind."""

from __future__ import annotations

from tests.ragged.runtime.hardship import run_script

LONG_CALL = """
import signal, threading, time
call = Caller([compiled()], {}, workers=2)
check(call, 1000)
steps = 1000
while True:                                  # a call of some tenths of a second
    begin = time.monotonic()
    check(call, 1000, steps)
    took = time.monotonic() - begin
    if took > 0.3:
        break
    steps *= 2
main = threading.main_thread().ident
threading.Timer(0.05, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
try:
    for _ in range(20):                      # a busy machine may be late with the signal
        begin = time.monotonic()
        check(call, 1000, steps)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begin < 3 * took + 1)
check(call, 1000)
print(call.idle_memory[0], "block")
"""


def test_a_long_call_is_interrupted_at_its_end(tmp_path):
    done = run_script(LONG_CALL, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted True\n1 block\n", "")


BOMBARDED = """
import os, subprocess, time
from ragged.runtime.team import helpers
call = Caller([compiled()], {}, workers=2)
check(call, 40)
shots = 300
sender = "import os, random, time\\n" + f"for _ in range({shots}):\\n" \\
    "    time.sleep(random.random() * 0.004)\\n" f"    os.kill({os.getpid()}, 2)\\n"
hits = calls = 0
def calls_until(end):
    global hits, calls
    while True:
        try:
            while time.monotonic() < end:
                check(call, 40, spin_ns=50_000)
                calls += 1
            return
        except KeyboardInterrupt:
            hits += 1
def survive(action, *args):                  # an interrupt may come while one is being dealt with
    while True:
        try:
            return action(*args)
        except KeyboardInterrupt:
            pass
process = subprocess.Popen([sys.executable, "-c", sender], start_new_session=True)
survive(survive, survive, calls_until, time.monotonic() + 1.5)
survive(survive, survive, process.wait)
check(call, 40)
assert hits > 50 and calls > 50, (hits, calls)
assert call.idle_memory[0] == 1, call.idle_memory
print(helpers(), "helper")
"""


def test_a_second_under_fire(tmp_path):
    done = run_script(BOMBARDED, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 helper\n", "")


def test_an_exception_in_the_middle_leaves_nothing(tmp_path):
    body = """
call = Caller([compiled()], {}, workers=2)
check(call, 40)
for wrong in (None, "x", np.zeros(40), np.zeros(80, np.int64)[::2]):
    for _ in range(100):
        try:
            call({"n": 40, "steps": 1, "x": wrong})
            print("not refused")
        except Exception:
            pass
try:
    call({"n": 2**61, "steps": 1, "x": np.zeros(40, np.int64)})
except MemoryError:
    print("too large")
print(call.idle_memory[0], "block", check(call, 40), "workers")
"""
    done = run_script(body, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "too large\n1 block 2 workers\n", "")
