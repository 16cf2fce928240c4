"""dispatch: copies of a loop for ranges of its extent."""

import pytest

from ragged.ir.build import both
from ragged.ir.expr import Binary, Const
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.prove import holds
from ragged.transform.locate import loop_site
from ragged.transform.loops.dispatch import dispatch
from ragged.transform.loops.split import Tail, split
from tests.ragged.transform.programs import MATVEC, TREE
from tests.ragged.transform.support import (
    MATVEC_DATA,
    TREE_DATA,
    accepted,
    body,
    check_same,
    check_same_compiled,
    loop,
    refused,
)

LINE = """\
program("line")

count: input()
x: output(float32[16])

with kernel:
    for n in {kind}({extent}):
        x[n] = float32(n)
"""


def line(kind="serial", extent="count"):
    program = parse(LINE.format(kind=kind, extent=extent))
    return program, loop(program, "n")


def test_text(golden):
    program, n = line()
    result = accepted(dispatch, program, n, (2, 8))
    assert [var.name for var in result.forwarding.loops[n]] == ["n", "n_lt2", "n_lt8"]
    golden("dispatch.txt", body(program) + "\ndispatch(n, (2, 8))\n\n" + body(result.program))


@pytest.mark.parametrize("below", [(1,), (2, 3), (1, 4, 9)])
def test_every_copy_computes_the_same(below):
    program, n = line()
    data = [({"count": count}, {}) for count in (0, 1, 2, 3, 4, 8, 9, 16)]
    check_same(program, accepted(dispatch, program, n, below).program, data)
    program = parse(MATVEC)
    result = accepted(dispatch, program, loop(program, "n"), below)
    check_same(program, result.program, MATVEC_DATA)
    program = parse(TREE)
    check_same(program, accepted(dispatch, program, loop(program, "n", 1), below).program, TREE_DATA)


def test_each_copy_has_a_schedule_of_its_own():
    program = parse(MATVEC)
    n = loop(program, "n")
    result = accepted(dispatch, program, n, (2, 5))
    most, _, few = result.forwarding.loops[n]
    new = accepted(split, result.program, few, 2, Tail.BALANCE).program
    new = accepted(split, new, most, 4, Tail.OVERLAP).program
    check_same(program, new, MATVEC_DATA)
    check_same_compiled(program, new, MATVEC_DATA, "y")


def test_the_ranges_are_known_to_proofs_and_cover_all_without_overlap():
    program, n = line()
    result = accepted(dispatch, program, n, (2, 8))
    sites = [loop_site(result.program, var, "test") for var in result.forwarding.loops[n]]
    ranges = {"n": (8, None), "n_lt2": (None, 1), "n_lt8": (2, 7)}
    for site in sites:
        least, most = ranges[site.stmt.var.name]
        goals = [Binary(BinaryOp.LE, Const(least), site.stmt.extent)] if least is not None else []
        goals += [Binary(BinaryOp.LE, site.stmt.extent, Const(most))] if most is not None else []
        assert holds(result.program, site, both(*goals) if len(goals) == 2 else goals[0])
        other = Binary(BinaryOp.EQ, site.stmt.extent, Const(3 if least != 2 else 9))
        assert not holds(result.program, site, other)


def test_bounds_that_do_not_ascend_are_refused():
    program, n = line()
    for below, shown in (((), "nothing"), ((0, 2), "0, 2"), ((3, 3), "3, 3"), ((4, 2), "4, 2")):
        assert refused(dispatch, program, n, below) == (
            f"dispatch: cannot dispatch loop 'n' below {shown}\n"
            "  fix: one or more ascending numbers, from 1 up"
        )


def test_a_constant_extent_and_a_team_are_refused():
    program, n = line(extent="12")
    assert refused(dispatch, program, n, (8,)) == (
        "dispatch: cannot dispatch loop 'n' below 8\n  because: it always runs 12 times"
    )
    program, n = line(kind="team")
    assert refused(dispatch, program, n, (8,)) == (
        "dispatch: cannot dispatch loop 'n' below 8\n  because: the iterations of 'n' are the workers of a team"
    )


def test_a_reduction_goes_over_its_copies():
    program = parse(MATVEC.replace("serial(6)", "serial(min(count, 6))"))
    result = accepted(dispatch, program, loop(program, "j"), (2, 6))
    check_same(program, result.program, MATVEC_DATA)
