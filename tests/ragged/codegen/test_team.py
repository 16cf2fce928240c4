"""Machine code that a team runs: barriers, what stands beside team loops, and checks that fail in one worker."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.codegen.entry import CompiledCheckFailed
from ragged.errors import ScheduleError
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller

ALL_COME = 10**10
"""Nanoseconds: a call that waits for every worker, however busy the machine is."""

WAVES = """\
program("waves")

workers: call()
steps: call()
x: workspace(int64[2, workers + 2])
out: output(int64[workers])

with kernel:
    for w in team(workers):
        x[0, w] = w
        x[1, w] = 0
        barrier(team)
        for s in serial(steps):
            x[(s + 1) % 2, w] = x[s % 2, (w + 1) % workers] + x[s % 2, w]
            barrier(team)
        out[w] = x[steps % 2, w]
"""
"""Each worker adds its neighbour's number to its own, step by step."""

BESIDE = """\
program("beside")

workers: call()
rounds: call()
total: workspace(int64[1])
mine: workspace(int64[workers])
out: output(int64[rounds + 1])

with kernel:
    total[0] = 1
    for r in serial(rounds):
        for w in team(workers):
            mine[w] = total[0] + w
        out[r] = mine[workers - 1]
        for w2 in team(workers):
            mine[w2] += out[r]
        total[0] = mine[0]
    out[rounds] = total[0]
"""
"""Team loops with statements of the first worker before, between and after them."""

CHECKED = """\
program("checked")

workers: call()
steps: call()
limit: call()
out: output(int64[workers])

with kernel:
    for w in team(workers):
        out[w] = 0
        barrier(team)
        for s in serial(steps):
            check(s != limit or w != 1, "worker {0} of {1} at step {2}", w, workers, s)
            out[w] += 1
            barrier(team)
"""


def caller(text: str, workers: int) -> Caller:
    return Caller([compile_program(parse(text)).entry(StageKind.KERNEL)], {}, workers=workers)


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_workers_see_what_others_wrote_before_a_barrier(workers):
    call = caller(WAVES, workers)
    for steps in (0, 1, 2, 7, 50):
        got = call({"steps": steps}, spin_ns=ALL_COME)["out"]
        want = interpret(parse(WAVES), {"steps": steps, "workers": workers}, {})["out"]
        np.testing.assert_array_equal(got, want)


def test_a_barrier_over_more_buffers_than_there_are_registers():
    names = [f"x{i}" for i in range(40)]
    declared = "".join(f"{name}: output(int64[workers])\n" for name in names)
    first = "".join(f"        {name}[w] = w\n" for name in names)
    then = "".join(f"        {name}[w] += {name}[w] + {i}\n" for i, name in enumerate(names))
    head = f'program("many")\n\nworkers: call()\n{declared}\nwith kernel:\n    for w in team(workers):\n'
    call = caller(f"{head}{first}        barrier(team)\n{then}", 2)
    got = call({}, spin_ns=ALL_COME)
    for i, name in enumerate(names):
        np.testing.assert_array_equal(got[name], [i, 2 + i])


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_what_stands_beside_team_loops_is_run_once_and_in_order(workers):
    call = caller(BESIDE, workers)
    for rounds in (0, 1, 5):
        want = interpret(parse(BESIDE), {"rounds": rounds, "workers": workers}, {})["out"]
        for _ in range(20):
            np.testing.assert_array_equal(call({"rounds": rounds}, spin_ns=ALL_COME)["out"], want)


@pytest.mark.parametrize("workers", [2, 3])
def test_a_check_that_fails_in_one_worker_ends_all(workers):
    call = caller(CHECKED, workers)
    for limit in (0, 3, 9):
        with pytest.raises(CompiledCheckFailed) as error:
            call({"steps": 10, "limit": limit}, spin_ns=ALL_COME)
        assert error.value.what == f"worker 1 of {workers} at step {limit}"
        out = call({"steps": 10, "limit": 10}, spin_ns=ALL_COME)["out"]
        assert out.tolist() == [10] * workers


def test_more_workers_than_cores_do_not_hang():
    call = caller(WAVES, 7)
    steps = 200
    want = interpret(parse(WAVES), {"steps": 20, "workers": 7}, {})["out"]
    np.testing.assert_array_equal(call({"steps": 20}, spin_ns=ALL_COME)["out"], want)
    assert call({"steps": steps}, spin_ns=ALL_COME)["out"].shape == (7,)


def test_a_stage_without_a_barrier_needs_no_library():
    assert "usleep" in compile_program(parse(WAVES)).undefined_symbols()
    alone = WAVES.replace("            barrier(team)\n", "").replace("        barrier(team)\n", "")
    assert "usleep" not in compile_program(parse(alone)).undefined_symbols()


def test_what_decides_around_a_team_must_not_change():
    text = BESIDE.replace("for r in serial(rounds)", "for r in serial(total[0])")
    with pytest.raises(ScheduleError) as refusal:
        compile_program(parse(text))
    assert str(refusal.value) == (
        "'total' decides what stands around a team's loop, and is written meanwhile\n"
        "  because: workers that look at different times would part"
    )


def test_workers_have_no_common_stack():
    text = BESIDE.replace("mine: workspace(int64[workers])\n", "").replace(
        "    total[0] = 1\n", "    mine = local(int64[4])\n    total[0] = 1\n"
    )
    with pytest.raises(ScheduleError) as refusal:
        compile_program(parse(text))
    assert str(refusal.value) == (
        "local buffer 'mine' is shared by a team's workers\n"
        "  because: each has a stack of its own\n"
        "  fix: a workspace that the program declares"
    )
