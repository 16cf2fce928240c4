"""Children of a process with a team: each has its own, whoever made it and whatever was under way."""

from __future__ import annotations

import os
import threading

import pytest

from ragged.runtime.call import Caller
from ragged.runtime.team import helpers
from tests.ragged.runtime.hardship import check, compiled, in_child, run_script


@pytest.fixture(scope="module")
def call():
    return Caller([compiled()], {}, workers=2)


def test_a_child_of_a_child(call):
    check(call, 100)

    def child() -> None:
        assert helpers() == 0
        assert check(call, 100) == 2
        assert in_child(lambda: check(call, 100)) == 0
        assert check(call, 100) == 2

    assert in_child(child) == 0
    assert check(call, 100) == 2


def test_a_fork_while_another_thread_is_in_a_call(call):
    end = threading.Event()
    made = []

    def work() -> None:
        while not end.is_set():
            made.append(check(call, 200, steps=2000))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(20):
            assert in_child(lambda: [check(call, 100) for _ in range(3)]) == 0
    finally:
        end.set()
        thread.join()
    assert made and check(call, 100) == 2
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # no process is left


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_processes_of_multiprocessing(method, tmp_path):
    body = f"""
import multiprocessing
call = Caller([compiled()], {{}}, workers=2)
def work(n):
    return check(call, n)
if __name__ == "__main__":
    check(call, 50)
    with multiprocessing.get_context({method!r}).Pool(1) as pool:
        assert pool.map(work, range(20), chunksize=1) == [2] * 20
    assert check(call, 50) == 2
    print("done", multiprocessing.active_children())
"""
    done = run_script(body, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done []\n", "")
