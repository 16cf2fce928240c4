"""split: loops over blocks."""

import pytest

from ragged.ir.parser import parse
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

count: structure()
start: structure() = facts(0 <= start < 5)
x: output(float32[count])

with kernel:
    for i in {kind}({extent}):
        x[{index}] = 1.0
"""


def line(extent, kind="serial", index="i"):
    return parse(LINE.format(extent=extent, kind=kind, index=index))


@pytest.mark.parametrize("tail", Tail, ids=lambda tail: tail.value)
def test_text(tail, golden):
    program = parse(MATVEC)
    after = accepted(split, program, loop(program, "n"), 4, tail).program
    golden(f"split_{tail.value}.txt", body(program) + "\nsplit(n, 4)\n\n" + body(after))


@pytest.mark.parametrize("tail", Tail, ids=lambda tail: tail.value)
@pytest.mark.parametrize("factor", [1, 2, 3, 4, 5, 7, 16])
def test_every_loop_by_every_factor_computes_the_same(factor, tail):
    for text, data in ((MATVEC, MATVEC_DATA), (TREE, TREE_DATA)):
        program = parse(text)
        new = program
        for var in list(accepted(split, program, loop(program, "n"), 1).forwarding.loops):
            result = accepted(split, new, var, factor, tail)
            if len(result.forwarding.loops[var]) == 3:  # what a tail copies is split once
                check_same(program, result.program, data)
                continue
            new = result.program
        check_same(program, new, data)


def test_machine_code():
    program = parse(MATVEC)
    new = accepted(split, program, loop(program, "n"), 4, Tail.PEEL).program
    new = accepted(split, new, loop(new, "j"), 4, Tail.PEEL).program
    new = accepted(split, new, loop(new, "i", 1), 3).program
    check_same_compiled(program, new, MATVEC_DATA, "y")


@pytest.mark.parametrize(
    ("extent", "factor", "tail", "text"),
    [
        (
            "12",
            4,
            Tail.PEEL,
            """\
    for i_o in serial(3):
        for i_i in serial(4):
            x[i_o * 4 + i_i] = 1.0
""",
        ),
        (
            "13",
            4,
            Tail.PEEL,
            """\
    for i_o in serial(3):
        for i_i in serial(4):
            x[i_o * 4 + i_i] = 1.0
    for i_t in serial(1):
        x[12 + i_t]: x.t = 1.0
""",
        ),
        (
            "13",
            4,
            Tail.GUARD,
            """\
    for i_o in serial(4):
        for i_i in serial(4):
            if i_o * 4 + i_i < 13:
                x[i_o * 4 + i_i] = 1.0
""",
        ),
        (
            "3",
            4,
            Tail.PEEL,
            """\
    for i_o in serial(0):
        for i_i in serial(4):
            x[i_o * 4 + i_i] = 1.0
    for i_t in serial(3):
        x[i_t]: x.t = 1.0
""",
        ),
        (
            "count",
            1,
            Tail.GUARD,
            """\
    for i_o in serial(count):
        for i_i in serial(1):
            x[i_o + i_i] = 1.0
""",
        ),
        (
            "count * 16",
            8,
            Tail.GUARD,
            """\
    for i_o in serial(count * 2):
        for i_i in serial(8):
            x[i_o * 8 + i_i] = 1.0
""",
        ),
        (
            "count - start",
            4,
            Tail.PEEL,
            """\
    for i_o in serial(max(count - start, 0) // 4):
        for i_i in serial(4):
            x[i_o * 4 + i_i] = 1.0
    for i_t in serial(max(count - start, 0) % 4):
        x[max(count - start, 0) // 4 * 4 + i_t]: x.t = 1.0
""",
        ),
    ],
)
def test_constants_are_folded(extent, factor, tail, text):
    program = line(extent)
    assert body(accepted(split, program, loop(program, "i"), factor, tail).program) == text


@pytest.mark.parametrize("count", range(7))
def test_a_loop_that_runs_never_stays_so(count):
    program = line("count - start")
    new = accepted(split, program, loop(program, "i"), 4, Tail.PEEL).program
    check_same(program, new, [({"count": count, "start": 3}, {})])


def test_a_peeled_reduction_goes_on_from_what_is_there():
    program = parse(MATVEC)
    result = accepted(split, program, loop(program, "j"), 4, Tail.PEEL)
    outer, inner, tail = result.forwarding.loops[loop(program, "j")]
    assert [var.name for var in (outer, inner, tail)] == ["j_o", "j_i", "j_t"]
    assert "t[n, i]: t.t = reduce(sum, U[i, 4 + j_t] * v[n, 4 + j_t], init=t[n, i])" in body(result.program)


def test_a_factor_of_nothing_is_refused():
    program = line("count")
    assert refused(split, program, loop(program, "i"), 0) == (
        "split: cannot split loop 'i' into blocks of 0\n  fix: a factor from 1 up"
    )


def test_lanes_are_refused():
    program = line("8", kind="vectorized")
    assert refused(split, program, loop(program, "i"), 4) == (
        "split: cannot split loop 'i', as it is vectorized\n"
        "  because: its iterations are lanes or workers\n"
        "  fix: split first"
    )


def test_a_loop_of_another_program_is_refused():
    other = parse(MATVEC)
    assert refused(split, line("count"), loop(other, "j"), 4) == (
        "split: the program has no loop 'j'\n"
        "  because: it was never there, or an earlier step put others in its place\n"
        "  fix: name a loop of this program: `s.loop(name)`"
    )


def test_an_extent_that_the_loop_changes_is_refused():
    program = parse(
        """\
program("shrinking")

left: output(int64[1])

with kernel:
    left[0] = 5
    for i in serial(left[0]):
        left[0]: less = i
"""
    )
    assert refused(split, program, loop(program, "i"), 2) == (
        "split: cannot split loop 'i'\n"
        "  because: left[0] would be evaluated at another time, and 'left' is written in between"
    )
