"""What may be shared out over workers and threads: effects in independent parallel loops alone, once."""

import pytest

from ragged.analysis.parallel_regions import outermost_parallel
from ragged.errors import ScheduleError
from ragged.ir.parser import parse
from ragged.ir.sites import Site
from ragged.ir.stmt import For, LoopKind
from ragged.transform.mapping.work_sharing import (
    Shareable,
    check_effects,
    check_undistributed,
    split_allocations,
)

HEAD = """\
program("p")

n: call()
x: output(float32[9])
y: output(float32[9])

with kernel:
"""
FUSED = "a = i // 4\n    b = i % 4\n    "
PARALLEL = "for i in parallel(8):\n    {}\n"


def parsed(text):
    return parse(HEAD + "".join(f"    {line}\n" for line in text.splitlines()))


def shareable(text):
    return Shareable.of(parsed(text), "share", "refused")


@pytest.mark.parametrize(
    "line",
    [
        "x[i] = 1.0",
        'check(x[0] < 1.0, "a failed check ends the program in whatever order")\n    y[i] = 1.0',
        "x[i] = y[i]\n    y[i] = 2.0",
        f"{FUSED}x[a * 4 + b] = 1.0",
    ],
)
def test_independent_iterations_are_shared_out(line):
    assert [region.loop.var.name for region in shareable(PARALLEL.format(line)).regions] == ["i"]


@pytest.mark.parametrize(
    "line",
    [
        "x[i + 1] = x[i]",
        "x[0] = float32(i)",
        "y[i] = x[0]\n    x[i] = 1.0",
        f"{FUSED}x[a] = 1.0",
        f"{FUSED}x[b] = 1.0",
    ],
)
def test_iterations_that_touch_one_element_are_refused(line):
    with pytest.raises(ScheduleError, match=r"share: the iterations of loop '[iab]' are not proven"):
        shareable(PARALLEL.format(line))


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("for i in serial(8):\n    x[i] = 1.0", "it has no parallel loop"),
        (f"{PARALLEL.format('x[i] = 1.0')}y[0] = 1.0", "'y' stands outside its parallel loops: every worker"),
        ("for w in team(2):\n    for i in parallel(8):\n        x[i] = 1.0", "'w' is a team loop already"),
        (
            f"m = int64(y[0])\n{PARALLEL.format('y[i] = 1.0')}",
            "reads 'y', and workers would read it at different",
        ),
    ],
)
def test_what_workers_would_repeat_or_see_at_other_times_is_refused(text, because):
    with pytest.raises(ScheduleError, match=because):
        shareable(text)


def test_threads_reach_barriers_and_workers_repeat_them():
    program = parsed("for w in team(2):\n    barrier(team)\n    for i in parallel(8):\n        x[i] = 1.0")
    (stage,) = program.stages
    team = stage.body
    assert isinstance(team, For)
    regions = outermost_parallel(Site(stage, team.body, (team,)))
    check_effects("refused", team.body, regions, "thread")
    with pytest.raises(ScheduleError, match="'barrier' stands outside"):
        check_effects("refused", team.body, regions)
    check_undistributed("refused", team.body, LoopKind.TEAM)


def test_allocations_around_the_body_of_a_team():
    program = parsed(
        "for w in team(2):\n    s = local(float32[2])\n    t = local(float32[3])\n    s[0] = 1.0\n"
        "    u = local(float32[4])\n    u[0] = 1.0"
    )
    (stage,) = program.stages
    assert isinstance(stage.body, For)
    allocations, body = split_allocations(stage.body)
    assert [each.buffer.name for each in allocations] == ["s", "t"]
    assert body is allocations[1].body and allocations[0].body is allocations[1]


def test_workers_meet_where_one_may_need_what_another_wrote():
    text = f"{PARALLEL.format('x[i] = 1.0')}for k in parallel({{}}):\n    y[k] = x[k]\n"
    barriers = shareable(text.format(4)).barriers
    assert [var.name for var in barriers.always] == ["k"] and not barriers.interchanged
    same = shareable(text.format(8)).barriers
    assert not same.always and not same.interchanged
