"""run_once: sequential parts beside parallel loops are in loops of one iteration; other kernels stay as they are."""

import pytest

from ragged.ir.parser import parse
from ragged.passes.run_once import run_once
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform import distribute_over_team

HEAD = """\
program("p")

N: call()
x: payload(float32[N])
part: workspace(float32[N])
total: output(float32[()])

with kernel:
"""
SHARED = """\
    for p in parallel(N):
        part[p] = x[p] * x[p]
"""
ALONE = """\
    total[()] = 0.0
    for q in serial(N):
        total[()] += {read}
"""


def test_one_worker_runs_what_is_sequential():
    program = run_once(parse(HEAD + SHARED + ALONE.format(read="part[q]"))).program
    text = str(program).partition("with kernel:\n")[2]
    assert (
        text
        == f"""{SHARED}    for once in parallel(1):
        total[()] = 0.0
        for q in serial(N):
            total[()] = reduce(sum, part[q], over=(q,))
"""
    )
    LoopSchedule(program).apply(distribute_over_team)


@pytest.mark.parametrize("body", [SHARED, ALONE.format(read="x[q]")], ids=["parallel", "sequential"])
def test_other_kernels_stay(body):
    program = parse(HEAD + body)
    assert run_once(program).program is program
