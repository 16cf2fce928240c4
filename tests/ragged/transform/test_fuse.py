"""fuse: two loops as one."""

import numpy as np
import pytest

from ragged.ir.parser import parse
from ragged.transform.loops.fuse import fuse
from tests.ragged.transform.programs import TREE
from tests.ragged.transform.support import (
    TREE_DATA,
    accepted,
    body,
    check_same,
    check_same_compiled,
    loop,
    refused,
)

PAIR = """\
program("pair")

count: input()
start: input() = facts(0 <= start < 9)
length: input(k < count) = facts(0 <= length(k) < 5)
x: output(float32[16, 16])
y: output(int64[1])

with kernel:
    y[0]: y.init = 0
    for n in {outer}:
        {let}
        for i in {inner}:
            {statement}
"""


def pair(
    outer="serial(count)", inner="serial(3)", let="row = n + 1", statement="x[row, i] = float32(n * 100 + i)"
):
    program = parse(PAIR.format(outer=outer, inner=inner, let=let, statement=statement))
    return program, loop(program, "n"), loop(program, "i")


def data(count, start):
    return {"count": count, "start": start}, {"length": np.full(count, 2, np.int32)}


DATA = [data(0, 0), data(1, 2), data(5, 1), data(3, 8)]


def test_text(golden):
    program, n, i = pair()
    result = accepted(fuse, program, n, i)
    (fused,) = result.forwarding.loops[n]
    assert result.forwarding.loops[i] == (fused,)
    golden("fuse.txt", body(program) + "\nfuse(n, i)\n\n" + body(result.program))


@pytest.mark.parametrize(
    ("outer", "inner", "extent"),
    [
        ("serial(4)", "serial(3)", "serial(12)"),
        ("serial(count)", "serial(1)", "serial(count):\n        n = n_i\n        row = n + 1\n        i = 0"),
        ("parallel(count)", "parallel(4)", "parallel(count * 4)"),
        ("unrolled(4)", "unrolled(4)", "unrolled(16)"),
        ("serial(count)", "serial(start)", "serial(count * start)"),
        ("serial(count - start)", "serial(count - start)", "serial((count - start) * max(count - start, 0))"),
        ("serial(3)", "serial(0)", "serial(0)"),
    ],
)
def test_every_shape_computes_the_same(outer, inner, extent):
    program, n, i = pair(outer, inner)
    new = accepted(fuse, program, n, i).program
    assert f"for n_i in {extent}" in body(new)
    check_same(program, new, DATA)


def test_a_condition_between_and_a_reduction_over_both():
    text = PAIR.replace(
        "        for i in {inner}:\n            {st", "            for i in {inner}:\n                {st"
    )
    program = parse(
        text.format(outer="serial(count)", let="if n > 0:", inner="serial(3)", statement="y[0] += n * 10 + i")
    )
    new = accepted(fuse, program, loop(program, "n"), loop(program, "i")).program
    check_same(program, new, DATA)
    assert "            y[0] += n * 10 + i" in body(new)


def test_machine_code():
    program = parse(TREE)
    new = parse(TREE.replace("for i in serial(4)", "for i in parallel(4)", 1))
    new = accepted(fuse, new, loop(new, "n"), loop(new, "i")).program
    shapes = [(sizes, arrays) for sizes, arrays in TREE_DATA]
    check_same_compiled(program, new, shapes, "h")


def test_an_inner_extent_that_depends_on_the_outer_loop_is_refused():
    program, n, i = pair(inner="serial(row)")
    assert refused(fuse, program, n, i) == (
        "fuse: cannot fuse the loops 'n' and 'i'\n  because: how often 'i' runs, n + 1, depends on 'n'"
    )


def test_an_inner_extent_that_is_known_in_the_outer_loop_alone_is_refused():
    program, n, i = pair(inner="serial(length(0))")
    assert refused(fuse, program, n, i) == (
        "fuse: cannot fuse the loops 'n' and 'i'\n"
        "  because: how often 'i' runs, length(0), is known where count > 0 alone"
    )
    text = PAIR.replace("for i in {inner}:", "  for i in {inner}:").replace("    {stat", "      {stat")
    program = parse(
        text.format(
            outer="serial(3)", let="if 0 < count:", inner="serial(length(0))", statement="x[n, i] = 1.0"
        )
    )
    assert refused(fuse, program, loop(program, "n"), loop(program, "i")) == (
        "fuse: cannot fuse the loops 'n' and 'i'\n"
        "  because: how often 'i' runs, length(0), is known where 0 < count alone"
    )


def test_the_wrong_order_is_refused():
    program, n, i = pair()
    assert refused(fuse, program, i, n) == (
        "fuse: cannot fuse the loops 'i' and 'n'\n"
        "  because: 'i' is the inner one\n"
        "  fix: name the outer loop first, or reorder them"
    )


def test_two_kinds_are_refused():
    program, n, i = pair(outer="parallel(count)")
    assert refused(fuse, program, n, i) == (
        "fuse: cannot fuse the loops 'n' and 'i'\n"
        "  because: 'n' is parallel and 'i' serial\n"
        "  fix: fuse first, then say how the loop runs"
    )


def test_a_reduction_over_one_of_them_is_refused():
    program, n, i = pair(statement="x[n, 0] += 1.0")
    assert refused(fuse, program, n, i) == (
        "fuse: cannot fuse the loops 'n' and 'i'\n"
        "  because: 'x' reduces over one of them and not over the other"
    )


def test_a_let_that_the_loops_change_is_refused():
    program, n, i = pair(let="old = y[0]", statement="y[0] = old + 1")
    assert refused(fuse, program, n, i) == (
        "fuse: cannot fuse the loops 'n' and 'i'\n"
        "  because: y[0] would be evaluated at another time, and 'y' is written in between"
    )


def test_a_team_is_refused():
    program, n, i = pair(outer="team(count)")
    assert refused(fuse, program, n, i) == (
        "fuse: cannot fuse the loops 'n' and 'i'\n  because: the iterations of 'n' are the workers of a team"
    )


def test_loops_that_are_not_nested_are_refused():
    program = parse(TREE)
    assert refused(fuse, program, loop(program, "b"), loop(program, "i", 1)) == (
        "fuse: cannot fuse the loops 'b' and 'i'\n"
        "  because: the loop 'n' stands directly inside 'b'\n"
        "  fix: name 'n' too, or fuse it first"
    )
