"""fuse_siblings: two loops as one."""

import numpy as np

from ragged.ir.parser import parse
from ragged.transform.loops.fission import fission
from ragged.transform.loops.fuse_siblings import fuse_siblings
from tests.ragged.transform.programs import MATVEC, TREE
from tests.ragged.transform.support import (
    MATVEC_DATA,
    TREE_DATA,
    accepted,
    body,
    check_same,
    check_same_compiled,
    label,
    loop,
    refused,
)

PAIR = """\
program("pair")

count: input()
begin: input(b < count) = facts(tiling(length, 2, 8))
length: input(b < count)
a: parameter(float32[9])
x: output(float32[9])
y: output(float32[9])
z: output(int64[1])

with kernel:
    for k in serial(9):
        x[k]: x.init = 0.0
    z[0]: z.init = 3
    for i in {first}:
        {one}
    for j in {second}:
        {two}
"""


def pair(one="x[i] = a[i]", two="y[j] = x[j]", first="serial(8)", second="serial(8)"):
    program = parse(PAIR.format(one=one, two=two, first=first, second=second))
    return program, loop(program, "i"), loop(program, "j")


DATA = [
    (
        {"count": 2},
        {
            "a": np.arange(9, dtype=np.float32),
            "begin": np.array([2, 0], np.int32),
            "length": np.array([6, 2], np.int32),
        },
    )
]


def test_text(golden):
    program = parse(TREE)
    one, other = loop(program, "i", 1), loop(program, "i", 2)
    result = accepted(fuse_siblings, program, one, other)
    assert result.forwarding.loops[one] == result.forwarding.loops[other] == (one,)
    golden("fuse_siblings.txt", body(program) + "\njam(i, i_1)\n\n" + body(result.program))


def test_the_loops_of_a_node_may_all_be_jammed():
    program = new = parse(TREE)
    for _ in range(2):
        new = accepted(fuse_siblings, new, loop(new, "i", 1), loop(new, "i", 2)).program
    check_same(program, new, TREE_DATA)
    check_same_compiled(program, new, TREE_DATA, "h")


def test_it_is_the_reverse_of_fission():
    program = parse(MATVEC)
    cut = accepted(fission, program, loop(program, "i"), label(program, "t.init")).program
    new = accepted(fuse_siblings, cut, loop(cut, "i"), loop(cut, "i_rest")).program
    assert body(new) == body(program)
    check_same(cut, new, MATVEC_DATA)


def test_extents_that_are_proven_equal():
    program, i, j = pair(first="serial(begin(0) + length(0) - 1)", second="serial(7)")
    check_same(program, accepted(fuse_siblings, program, i, j).program, DATA)


def test_a_later_use_may_be_jammed():
    program, i, j = pair(two="x[j] = x[j] * 2.0")
    check_same(program, accepted(fuse_siblings, program, i, j).program, DATA)
    program, i, j = pair(one="x[i + 1] = a[i]", two="y[j] = x[j]")
    check_same(program, accepted(fuse_siblings, program, i, j).program, DATA)


def test_reductions_go_over_the_first_loop():
    program, _, _ = pair(one="x[0] += a[i]", two="y[0]: y.sum = reduce(max, a[j])")
    program = parse(str(program).replace("    z[0]: z.init", "    y[0]: y.init = 0.0\n    z[0]: z.init"))
    new = accepted(fuse_siblings, program, loop(program, "i"), loop(program, "j")).program
    check_same(program, new, DATA)


def test_a_use_of_a_later_iteration_is_refused():
    program, i, j = pair(two="y[j] = x[j + 1]")
    assert refused(fuse_siblings, program, i, j) == (
        "fuse_siblings: cannot make one of the loops 'i' and 'j'\n"
        "  because: 'x' and 'y' may touch one element of 'x'\n"
        "  example: i = 1, j' = 0"
    )


def test_a_parallel_loop_keeps_no_order():
    program, i, j = pair(one="x[i + 1] = a[i]", first="parallel(8)", second="parallel(8)")
    assert refused(fuse_siblings, program, i, j) == (
        "fuse_siblings: cannot make one of the loops 'i' and 'j'\n"
        "  because: 'x' and 'y' may touch one element of 'x'\n"
        "  example: i = 0, j' = 1"
    )
    program, i, j = pair(first="parallel(8)", second="parallel(8)")
    check_same(program, accepted(fuse_siblings, program, i, j).program, DATA)


def test_loops_that_do_not_follow_each_other_are_refused():
    program, i, j = pair()
    assert refused(fuse_siblings, program, j, i) == (
        "fuse_siblings: cannot make one of the loops 'j' and 'i'\n  because: 'i' does not stand directly after 'j'"
    )
    assert refused(fuse_siblings, program, loop(program, "k"), j) == (
        "fuse_siblings: cannot make one of the loops 'k' and 'j'\n  because: 'j' does not stand directly after 'k'"
    )


def test_other_extents_are_refused():
    program, i, j = pair(first="serial(count)")
    assert refused(fuse_siblings, program, i, j) == (
        "fuse_siblings: cannot make one of the loops 'i' and 'j'\n  because: one runs count times, the other 8"
    )


def test_other_kinds_are_refused():
    program, i, j = pair(first="parallel(8)")
    assert refused(fuse_siblings, program, i, j) == (
        "fuse_siblings: cannot make one of the loops 'i' and 'j'\n"
        "  because: 'i' is parallel and 'j' serial\n"
        "  fix: fuse_siblings first, then say how the loop runs"
    )


def test_a_team_is_refused():
    program, i, j = pair(first="team(count)", second="team(count)")
    assert refused(fuse_siblings, program, i, j) == (
        "fuse_siblings: cannot make one of the loops 'i' and 'j'\n"
        "  because: the iterations of 'i' are the workers of a team"
    )


def test_an_extent_that_the_first_loop_changes_is_refused():
    program, i, j = pair(one="z[0] = 5", first="serial(z[0])", second="serial(z[0])")
    assert refused(fuse_siblings, program, i, j) == (
        "fuse_siblings: cannot make one of the loops 'i' and 'j'\n"
        "  because: z[0] would be evaluated at another time, and 'z' is written in between"
    )
