"""distribute_over_team with loops that every worker runs: the text, results, and where workers meet."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.errors import ScheduleError
from ragged.ir.interpret import Race, interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from tests.ragged.transform.support import check_team, check_team_compiled, loop

WAVES = """\
program("waves")

n: call() = facts(0 <= n < 1000)
rounds: call() = facts(0 <= rounds < 100)
x: payload(float32[n, 4])
t: workspace(float32[rounds, n, 4])
y: output(float32[n, 4])

with kernel:
    for s in parallel(4):
        for k in parallel(n):
            y[k, s] = x[k, s]
    for r in serial(rounds):
        for k1 in parallel(n):
            for i in serial(4):
                t[r, k1, i] = y[k1, i] + y[n - 1 - k1, i]
        for s2 in parallel(4):
            for k2 in parallel(n):
                y[k2, s2] = 0.5 * t[r, {read}]
"""
SAME, OTHER_ROW = "k2, 3 - s2", "n - 1 - k2, s2"
WIDE = 2


def program(read=SAME):
    return parse(WAVES.format(read=read))


def shared_out(read=SAME, wide=WIDE, own=("k1",)):
    old = program(read)
    made = distribute_over_team(
        old, min_rows_per_worker=wide, replicated=tuple(loop(old, name) for name in own)
    ).program
    verify(made)
    return made


def data(n):
    return {"n": n, "rounds": 3}, {"x": np.random.default_rng(n).standard_normal((n, 4)).astype(np.float32)}


def kernel(made):
    return to_text(made).partition("with kernel:\n")[2]


def meetings(made):
    return [line.strip() for line in kernel(made).splitlines() if line.strip().startswith(("barrier", "if"))]


def test_text(golden):
    golden("replicated_loops.txt", f"{kernel(program())}\n# after\n\n{kernel(shared_out())}")


@pytest.mark.parametrize("wide", [None, WIDE])
@pytest.mark.parametrize("read", [SAME, OTHER_ROW])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_same_bits_for_any_team(workers, read, wide):
    new = shared_out(read, wide)
    batches = [data(n) for n in (0, 1, 2 * workers - 1, 2 * workers, 2 * workers + 3)]
    for batch in batches:
        check_team(program(read), new, batch, "y", workers=workers, seeds=range(3))
    check_team_compiled(program(read), new, batches, "y", workers=workers)


def test_nobody_waits_for_what_he_has_himself():
    text = WAVES.format(read=SAME).replace("y[k1, i] + y[n - 1 - k1, i]", "x[k1, i] + x[n - 1 - k1, i]")
    old = parse(text)
    assert meetings(distribute_over_team(old).program) == ["barrier(team)"]
    assert meetings(distribute_over_team(old, replicated=(loop(old, "k1"),)).program) == []


def test_who_needs_other_rows_computes_them():
    """Where rows are shared out, a worker computes its own where it reads no others, and else all."""
    assert "for k1_s in serial((row + 1) * n // rows - first)" in kernel(shared_out(SAME))
    assert "for k1 in serial(n)" in kernel(shared_out(OTHER_ROW))


def test_a_row_of_another_round_is_computed_by_all():
    """A worker with rows that change from round to round would not find those of the round before."""
    text = WAVES.format(read=SAME).replace("0.5 * t[r, ", "0.5 * t[r if r < 1 else r - 1, ")
    old = parse(text)
    made = distribute_over_team(old, min_rows_per_worker=WIDE, replicated=(loop(old, "k1"),)).program
    assert "for k1 in serial(n)" in kernel(made)
    for n in (1, 3, 4, 9):
        check_team(old, made, data(n), "y", workers=2, seeds=(n,))


def test_who_reads_his_own_rows_of_an_earlier_round_computes_all():
    """A sum of one's own that goes on from the round before: rows may have been another worker's there."""
    text = WAVES.format(read=SAME).replace(
        "= y[k1, i] +", "= (0.0 if r < 1 else t[r - 1, k1, i]) + y[k1, i] +"
    )
    old = parse(text)
    made = distribute_over_team(old, min_rows_per_worker=WIDE, replicated=(loop(old, "k1"),)).program
    assert "for k1 in serial(n)" in kernel(made)
    for n in (1, 3, 4, 9):
        check_team(old, made, data(n), "y", workers=2, seeds=(n,))


def test_what_is_of_one_row_is_computed_for_all_where_who_reads_it_needs_all():
    """Of two sums in a row of one's own the second is needed whole, and so is the first."""
    text = WAVES.format(read=OTHER_ROW).replace("y: output", "u: workspace(float32[rounds, n, 4])\ny: output")
    store = "u[r, k3, i] = 2.0 * t[r, k3, i]"
    second = f"        for k3 in parallel(n):\n            for i in serial(4):\n                {store}\n"
    text = text.replace("        for s2 in", f"{second}        for s2 in").replace("0.5 * t[r", "0.5 * u[r")
    old = parse(text)
    made = distribute_over_team(
        old, min_rows_per_worker=WIDE, replicated=(loop(old, "k1"), loop(old, "k3"))
    ).program
    assert "for k1 in serial(n)" in kernel(made) and "for k3 in serial(n)" in kernel(made)
    for n in (1, 3, 4, 9):
        check_team(old, made, data(n), "y", workers=2, seeds=(n,))


def test_what_another_stage_writes_is_nobodys_own():
    text = WAVES.format(read=SAME).replace(
        "with kernel:",
        "with prelude:\n    for r in serial(rounds):\n        t[r, 0, 0]: t.first = 0.0\nwith kernel:",
    )
    changed = parse(text.replace("0 <= n < 1000", "1 <= n < 1000"))
    with pytest.raises(ScheduleError) as error:
        distribute_over_team(changed, replicated=(loop(changed, "k1"),))
    assert str(error.value) == (
        f"{WHAT}each worker would have a copy of what loop 'k1' writes, and 't' is accessed before it or elsewhere, too"
    )


def test_without_copies_there_is_a_race():
    one = (
        to_text(shared_out(wide=None))
        .replace("[workers, rounds, n, 4]", "[rounds, n, 4]")
        .replace("t[w, ", "t[")
    )
    with pytest.raises(Race):
        interpret(parse(one), *data(3), workers=2)


WHAT = "distribute_over_team: cannot distribute the kernel over workers\n  because: "


@pytest.mark.parametrize(
    ("old", "new", "own", "because"),
    [
        ("", "", "r", "'r' is no outermost parallel loop, and only these can be replicated"),
        ("", "", "s", "each worker would have a copy of what loop 's' writes, and 'y' is no workspace"),
        (
            "            y[k, s] = x[k, s]",
            "            y[k, s] = x[k, s] + t[0, k, s]",
            "k1",
            "each worker would have a copy of what loop 'k1' writes, and 't' is accessed before it or elsewhere, too",
        ),
    ],
)
def test_refusals(old, new, own, because):
    changed = parse(WAVES.format(read=SAME).replace(old, new))
    with pytest.raises(ScheduleError) as error:
        distribute_over_team(changed, replicated=(loop(changed, own),))
    assert str(error.value) == WHAT + because


def test_memory_that_is_shared_is_nobodys_own():
    text = WAVES.format(read=SAME).replace(
        "y: output", "z: workspace(float32[rounds, n, 4], aliases=t)\ny: output"
    )
    changed = parse(text)
    with pytest.raises(ScheduleError) as error:
        distribute_over_team(changed, replicated=(loop(changed, "k1"),))
    assert str(error.value) == (
        f"{WHAT}each worker would have a copy of what loop 'k1' writes, and 't' shares its memory"
    )
