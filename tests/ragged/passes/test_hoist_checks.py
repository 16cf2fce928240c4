"""Checks of what a call gives are moved out of the kernel's loops, and check the same data; others stay."""

import pytest

from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.ir.verify import verify
from ragged.passes.hoist_checks import hoist_checks

HEAD = """\
program("gather")

B: call()
D: call()
L: call()
E: call()
rows: payload(int64[B, L])
other: payload(int64[E])
table: payload(float32[E, D])
made: workspace(int64[B, L])
y: output(float32[B, D])

with kernel:
"""
BODY = """\
    for b in parallel(B):
        for l in serial(L):
            made[b, l] = 0
    for b in parallel(B):
        for d in parallel(D):
            y[b, d] = 0.0
            for l in serial(L):
                {check}
                y[b, d] += table[0, d]
"""
INSIDE = 'check(0 <= {0} and {0} < E, "row {{0}}", {0})'
ROWS = INSIDE.format("rows[b, l]")


def hoisted(check):
    """The text of the prelude and the kernel."""
    program = hoist_checks(parse(HEAD + BODY.format(check=check))).program
    verify(program)
    text = str(program)
    return text.split("with kernel:")[0].partition("with prelude:")[2], text.split("with kernel:")[1]


def test_a_check_of_an_input_runs_once_for_each_element():
    prelude, kernel = hoisted(ROWS)
    lines = [line.strip() for line in prelude.strip().splitlines()]
    assert lines[:3] == ["if D > 0:", "for b in serial(B):", "for l in serial(L):"]
    assert lines[3].startswith("check(0 <= rows[b, l]")
    assert "check" not in kernel


def test_equal_checks_are_one():
    assert hoisted(f"{ROWS}\n                {ROWS}")[0].count("check(") == 1


def test_rows_of_rows_are_checked_after_the_rows_that_they_are_read_by():
    prelude, kernel = hoisted(f"{ROWS}\n                {INSIDE.format('other[rows[b, l]]')}")
    assert prelude.index("check(0 <= rows") < prelude.index("check(0 <= other")
    assert "check" not in kernel


def test_conditions_around_a_check_stay_around_it():
    prelude, _ = hoisted(f"if b < 3:\n                    {ROWS}")
    assert "if b < 3:" in prelude


@pytest.mark.parametrize(
    ("check", "loops"),
    [
        ('if b < 3:\n                    check(other[l] < E, "a row")', ["b", "l"]),
        ('check(other[l] < E, "a row of {0}", b)', ["b", "l"]),
        ('check(other[l] < E, "a row of {0}", l)', ["l"]),
        ('check(other[b] < E, "a row")', ["b"]),
    ],
)
def test_a_check_runs_for_what_it_mentions_and_what_is_around_it(check, loops):
    prelude, kernel = hoisted(check)
    assert [line.split()[1] for line in prelude.splitlines() if line.strip().startswith("for ")] == loops
    assert "check" not in kernel


@pytest.mark.parametrize(
    ("check", "loops", "condition"),
    [
        (
            'check(not other[l] == d or rows[b, l] < E, "a row")',
            ["b", "l"],
            "not (0 < D and (0 <= other[l] and other[l] < D)) or rows[b, l] < E",
        ),
        (
            'check(not (d == other[l] and d < b) or rows[b, l] < E, "a row")',
            ["b", "l"],
            "not (0 < D and (0 <= other[l] and other[l] < D) and other[l] < b) or rows[b, l] < E",
        ),
        (
            'check(not (b == other[l] and other[b] == d) or rows[0, l] < E, "a row")',
            ["l"],
            "not (0 < B and 0 <= other[l] and other[l] < B and 0 < D"
            " and (0 <= other[other[l]] and other[other[l]] < D)) or rows[0, l] < E",
        ),
        # what else depends on the loop: its witnesses, what is needed, a condition before
        ('check(not other[l] == d or rows[b, l] < E, "column {0}", d)', ["b", "d", "l"], "not other[l] == d"),
        ('check(not other[l] == d or rows[b, l] < d, "a row")', ["b", "d", "l"], "not other[l] == d"),
        ('check(not (d > 1 and other[l] == d) or rows[b, l] < E, "a row")', ["b", "d", "l"], "not (d > 1"),
    ],
)
def test_a_check_for_one_iteration_of_a_loop_has_no_loop(check, loops, condition):
    prelude, kernel = hoisted(check)
    assert [line.split()[1] for line in prelude.splitlines() if line.strip().startswith("for ")] == loops
    assert f"check({condition}" in prelude and "check" not in kernel


def test_a_condition_that_the_kernel_computes_keeps_its_check_there():
    stays(f"if made[b, l] < 3:\n                    {ROWS}")


@pytest.mark.parametrize("index", ["made[b, l]", "rows[b, made[b, l]]", "other[made[0, 0]]"])
def test_what_depends_on_the_kernel_stays_in_it(index):
    for check in (INSIDE.format(index), f'check({index} < E, "a row")'):
        stays(check)


def stays(check):
    program = parse(HEAD + BODY.format(check=check))
    assert hoist_checks(program).program.stage(StageKind.KERNEL) == program.stage(StageKind.KERNEL)


def test_a_loop_stays_around_one_that_it_bounds():
    text = HEAD + BODY.format(check='check(rows[0, l] < E, "a row")').replace(
        "for l in serial(L):\n                check", "for l in serial(other[b]):\n                check"
    )
    program = hoist_checks(parse(text)).program
    verify(program)
    prelude = str(program).partition("with prelude:")[2].partition("with kernel:")[0]
    assert prelude.index("for b in serial(B)") < prelude.index("for l in serial(other[b])")
