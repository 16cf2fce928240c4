"""The nest of two loops that a fused loop runs, from its quotients and remainders."""

import pytest

from ragged.analysis.unfused import unfused, unfused_loops
from ragged.ir.expr import Const
from ragged.ir.parser import parse
from ragged.ir.printer import expr_text
from ragged.transform.loops.fuse import fuse
from tests.ragged.transform.support import loop

PROGRAM = """\
program("p")

N: call()
M: call()
y: output(float32[3, 3, max(N, 1)])

with kernel:
    for e in serial({extent}):
        i = e // ({by})
        j = e % ({by})
        y[0, i, 0] = float32(j)
"""


@pytest.mark.parametrize(
    ("extent", "by", "outer"),
    [
        ("M * N", "N", "M"),
        ("M * N", "M", "N"),
        ("N * 9", "N * 3", "3"),
        ("N * 9", "N", "9"),
        ("N * 9", "9", "N"),
        ("9", "3", "3"),
        ("N // 4 * 6", "N // 4 * 2", "3"),
        ("N * 9", "N * 2", None),
        ("N * 9", "M * 3", None),
        ("9", "4", None),
        ("N", "M", None),
    ],
)
def test_quotients(extent, by, outer):
    found = unfused(parse(PROGRAM.format(extent=extent, by=by)).kernel)
    if outer is None:
        assert found is None
    else:
        assert (expr_text(found.extent), expr_text(found.body.extent)) == (outer, by)


def test_another_use_of_the_loop():
    text = PROGRAM.format(extent="M * N", by="N").replace("float32(j)", "float32(j + e)")
    assert unfused(parse(text).kernel) is None


def test_three_loops_that_were_fused():
    program = parse("""\
program("p")

N: call()
y: output(float32[3, 3, max(N, 1)])

with kernel:
    for p in parallel(3):
        for q in parallel(3):
            for n in parallel(max(N, 1)):
                y[p, q, n] = 1.0
""")
    program = fuse(program, loop(program, "q"), loop(program, "n")).program
    program = fuse(program, loop(program, "p"), loop(program, "q_n")).program
    assert expr_text(program.kernel.extent) == "max(N, 1) * 9"
    nest = unfused(program.kernel)
    assert nest.extent == Const(3) and unfused(nest.body).extent == Const(3)
    loops = unfused_loops(program.kernel)
    assert [each.var.name for each in loops] == ["p", "q", "n"]
    assert [each.body for each in loops[:2]] == list(loops[1:])
