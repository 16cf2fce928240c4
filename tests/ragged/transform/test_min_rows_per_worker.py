"""distribute_over_team with rows for workers where there are many: its text, its results, and where workers meet."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.errors import ScheduleError
from ragged.ir.interpret import Race, interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from tests.ragged.transform.support import check_team, check_team_compiled

ROUNDS = """\
program("rounds")

n: call() = facts(0 <= n < 1000)
rounds: call()
x: payload(float32[n, 4])
t: workspace(float32[n, 4])
y: output(float32[n, 4])

with kernel:
    for s in parallel(4):
        for k in parallel(n):
            y[k, s] = x[k, s]
    for r in serial(rounds):
        for s1 in parallel(4):
            for k1 in parallel(n):
                t[k1, s1] = y[k1, s1] + 1.0
        for s2 in parallel(4):
            for k2 in parallel(n):
                y[k2, s2] = 0.5 * t[{read}]
"""
OTHER_ROW, OTHER_COLUMN, SAME = "n - 1 - k2, s2", "k2, 3 - s2", "k2, s2"
WIDE = 2


def program(read=OTHER_ROW):
    return parse(ROUNDS.format(read=read))


def shared_out(read=OTHER_ROW, wide=WIDE):
    made = distribute_over_team(program(read), min_rows_per_worker=wide).program
    verify(made)
    return made


def data(n):
    return {"n": n, "rounds": 3}, {"x": np.random.default_rng(n).standard_normal((n, 4)).astype(np.float32)}


def kernel(made):
    return to_text(made).partition("with kernel:\n")[2]


def test_text(golden):
    golden("min_rows_per_worker.txt", f"{kernel(program())}\n# after\n\n{kernel(shared_out())}")


@pytest.mark.parametrize("read", [OTHER_ROW, OTHER_COLUMN, SAME])
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_the_same_bits_on_either_side(read, workers):
    new = shared_out(read)
    batches = [data(n) for n in (0, 1, 2 * workers - 1, 2 * workers, 2 * workers + 3)]
    for batch in batches:
        check_team(program(read), new, batch, "y", workers=workers, seeds=range(3))
    check_team_compiled(program(read), new, batches, "y", workers=workers)


CARRIED = "if n >= workers * 2 or r >= 1 and n >= workers * 2:"


@pytest.mark.parametrize(
    ("read", "meetings"),
    [
        (OTHER_ROW, ["barrier(team)", CARRIED, "barrier(team)", "if n >= workers * 2:", "barrier(team)"]),
        (OTHER_COLUMN, ["barrier(team)", "barrier(team)"]),
        (SAME, ["barrier(team)", CARRIED, "barrier(team)"]),
    ],
)
def test_where_workers_meet(read, meetings):
    """A worker that needs another row of the same column waits where rows are shared out, and there alone."""
    lines = [line.strip() for line in kernel(shared_out(read)).splitlines()]
    assert [line for line in lines if line.startswith(("barrier", "if"))] == meetings


VARYING = """\
program("varying")

n: call() = facts(0 <= n < 1000)
rounds: call()
length: payload(r < rounds) = facts(0 <= length(r) < n + 1)
x: payload(float32[n, 4])
t: workspace(float32[n, 4])
y: output(float32[n, 4])

with kernel:
    for s in parallel(4):
        for k in parallel(n):
            y[k, s] = x[k, s]
    for r in serial(rounds):
        for s1 in parallel(4):
            for k1 in parallel(length(r)):
                t[k1, s1] = y[k1, s1] + 1.0
        for s2 in parallel(4):
            for k2 in parallel(length(r)):
                y[k2, s2] = 0.5 * t[length(r) - 1 - k2, s2]
"""


@pytest.mark.parametrize("seed", range(12))
def test_rounds_of_many_and_of_few_rows_in_turns(seed):
    """Whoever had a row in a round of many need not have it in the next: all meet after one, and before one."""
    old = parse(VARYING)
    new = distribute_over_team(old, min_rows_per_worker=WIDE).program
    random = np.random.default_rng(seed)
    n, rounds, workers = int(random.integers(1, 12)), 6, int(random.integers(1, 4))
    sizes = {"n": n, "rounds": rounds}
    arrays = {
        "x": random.standard_normal((n, 4)).astype(np.float32),
        "length": random.integers(0, n + 1, rounds).astype(np.int32),
    }
    check_team(old, new, (sizes, arrays), "y", workers=workers, seeds=(seed,))


def test_rounds_that_are_skipped_do_not_count_as_meetings():
    """No barrier was reached after a round of many where the next one does nothing at all."""
    first = VARYING.index("        for s1")
    inside = "".join(f"    {line}\n" for line in VARYING[first:].splitlines())
    old = parse(VARYING[:first] + "        if r % 2 == 0:\n" + inside)
    new = distribute_over_team(old, min_rows_per_worker=WIDE).program
    arrays = {"x": np.ones((8, 4), np.float32), "length": np.array([8, 0, 3, 0, 8, 1], np.int32)}
    check_team(old, new, ({"n": 8, "rounds": 6}, arrays), "y", workers=2, seeds=range(4))


def test_who_does_not_meet_after_a_round_of_many_races():
    text = str(distribute_over_team(parse(VARYING), min_rows_per_worker=WIDE).program)
    after = " or r >= 1 and length(r - 1) >= workers * 2"
    assert after in text
    lacking = parse(text.replace(after, ""))
    arrays = {"x": np.zeros((8, 4), np.float32), "length": np.array([8, 3], np.int32)}
    with pytest.raises(Race):
        interpret(lacking, {"n": 8, "rounds": 2}, arrays, workers=2)


def test_without_the_barrier_there_is_a_race_where_rows_are_shared_out():
    text = to_text(shared_out())
    condition = next(line for line in text.splitlines() if line.strip().startswith("if n >="))
    lacking = parse(text.replace(condition, condition.replace("n >= workers * 2", "n < 0")))
    narrow, wide = data(3), data(4)
    interpret(lacking, *narrow, workers=2)
    with pytest.raises(Race):
        interpret(lacking, *wide, workers=2)


def test_of_no_rows_is_refused():
    with pytest.raises(ScheduleError) as error:
        distribute_over_team(program(), min_rows_per_worker=0)
    assert str(error.value) == (
        "distribute_over_team: cannot distribute the kernel over workers: min_rows_per_worker=0\n"
        "  fix: a number from 1 up"
    )


def test_rows_that_are_counted_in_an_array_are_one_workers():
    text = ROUNDS.format(read=OTHER_ROW).replace("rounds: call()", "rounds: call()\nm: payload(int64[1])")
    text = text.replace("for k1 in parallel(n)", "for k1 in parallel(m[0])")
    made = kernel(distribute_over_team(parse(text), min_rows_per_worker=WIDE).program)
    assert "for k1 in serial(m[0])" in made and "for k2_s in serial((row + 1) * n // rows" in made


def test_phases_under_other_conditions_wait_always():
    """How many rows there are is not asked where a condition does not hold."""
    text = ROUNDS.format(read=OTHER_ROW)
    first, second = text.index("        for s1"), text.index("        for s2")
    branch = (
        text[first:second].replace("\n    ", "\n        ").replace("        for s1", "            for s1", 1)
    )
    text = f"{text[:first]}        if rounds > 2:\n{branch.rstrip()}\n{text[second:]}"
    old = parse(text)
    new = distribute_over_team(old, min_rows_per_worker=WIDE).program
    lines = [line.strip() for line in kernel(new).splitlines()]
    assert [line for line in lines if line.startswith(("barrier", "if"))] == [
        "if rounds > 2:",
        "barrier(team)",
        "barrier(team)",
    ]
    for n in (1, 3, 4, 9):
        check_team(old, new, data(n), "y", workers=2, seeds=(n,))
