"""What primitives ask about a loop before they rewrite it."""

import pytest

from ragged.errors import ScheduleError
from ragged.ir.expr import Const, Var
from ragged.ir.parser import parse
from ragged.ir.stmt import Block, For, LoopKind
from ragged.transform.legality import require_independent, require_no_lanes, require_no_team
from ragged.transform.locate import follow, loop_site, the_loop
from tests.ragged.transform.support import loop

TEXT = """\
program("p")

x: output(float32[9])
y: output(float32[9])

with kernel:
    for i in {kind}(8):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "kind", "independent"),
    [
        ("x[i] = float32(i)", "serial", True),
        ("x[i + 1] = x[i] + 1.0", "serial", False),
        ("x[0] = float32(i)", "serial", False),
        ("x[i + 1] = x[i] + 1.0", "parallel", True),  # the program says so
        ("for j in serial(2):\n            x[i] = float32(j)", "serial", True),
        ("for j in serial(2):\n            x[i + j] = float32(j)", "serial", False),
    ],
)
def test_iterations_that_touch_one_element_are_not_independent(body, kind, independent):
    program = parse(TEXT.format(body=body, kind=kind))
    site = loop_site(program, loop(program, "i"), "test")
    if independent:
        require_independent(program, site, "refused")
        return
    with pytest.raises(ScheduleError, match="refused"):
        require_independent(program, site, "refused", "a fix")


@pytest.mark.parametrize("kind", LoopKind)
def test_lanes_and_workers_are_refused(kind):
    one = For(Var("i"), Const(4), Block(), kind)
    for refuses, kinds in (
        (
            lambda: require_no_lanes(one, "refused", "a fix"),
            {LoopKind.VECTORIZED, LoopKind.TEAM, LoopKind.THREADS},
        ),
        (lambda: require_no_team(one, "refused"), {LoopKind.TEAM, LoopKind.THREADS}),
    ):
        if kind in kinds:
            with pytest.raises(ScheduleError, match="refused"):
                refuses()
        else:
            refuses()


def test_loops_follow_each_other_where_nothing_is_between_them_in_one_block():
    program = parse(
        TEXT.format(
            kind="serial",
            body="for a in serial(2):\n            x[a] = 1.0\n"
            "        for b in serial(2):\n            x[b]: again = 2.0\n"
            "        for c in serial(2):\n            y[c] = 2.0\n            y[c]: more = 3.0\n"
            "    for d in serial(2):\n        x[d]: last = 2.0",
        )
    )
    loops = {name: the_loop(program, loop(program, name), "test") for name in "iabcd"}
    found = {(one, other) for one in loops for other in loops if follow(program, loops[one], loops[other])}
    assert found == {("a", "b"), ("b", "c"), ("i", "d")}
