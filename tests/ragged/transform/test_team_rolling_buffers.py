"""distribute_over_team with rooms: the text, the same bits for any team, where workers meet, and refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ragged.ir.equal import difference
from ragged.ir.interpret import Race, interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from ragged.transform.mapping.work_sharing import legal_rolling_buffers
from ragged.transform.storage.rolling_buffers import RollingBuffer
from tests.ragged.transform.support import body, check_team, check_team_compiled, loop, refused
from tests.ragged.transform.test_rebase_storage import buffer, data
from tests.ragged.transform.test_rebase_storage import program as parsed
from tests.ragged.transform.test_rebase_storage import rows as rows_of

BATCHES = """\
program("batches")

total: input()
batches: input() = facts(1 <= batches < total + 2)
widest: input()
begin: input(b < batches) = facts(tiling(length, 0, total))
length: input(b < batches) = facts(0 <= length(b) < (total + 1 if b == 0 else widest + 1))
x: payload(float32[total, 4])
t: workspace(float32[total, 4])
y: output(float32[total, 4])

with kernel:
    for s in parallel(4):
        for n in parallel(total):
            y[n, s] = x[n, s]
    for step in serial(batches - 1):
        b = step + 1
        for s1 in parallel(4):
            for n1 in parallel(length(b)):
                t[begin(b) + n1, s1] = x[begin(b) + n1, 3 - s1] * {factor}
        for s2 in parallel(4):
            for n2 in parallel(length(b)):
                y[begin(b) + n2, s2] = t[begin(b) + {read}] + 1.0
"""
SAME, OTHER_COLUMN, MIRRORED = "n2, s2", "n2, 3 - s2", "(length(b) - 1 - n2), s2"
WIDE = 2
LENGTHS = [(3,), (4, 2), (5, 1, 4, 2, 7, 3, 6), (2, 9, 4, 8)]


def batch(lengths):
    sizes, arrays = data(*lengths)
    wide = np.random.default_rng(0).standard_normal((sizes["total"], 4)).astype(np.float32)
    return sizes, {**arrays, "x": wide}


DATA = [batch(lengths) for lengths in LENGTHS]


def program(read=SAME, factor="2.0"):
    return parsed(BATCHES.format(read=read, factor=factor))


def shared_out(old, own=()):
    return checked(old, own, ((buffer(old), *rows_of(old)),))


def checked(old, own, rooms):
    before = to_text(old)
    made = distribute_over_team(old, min_rows_per_worker=WIDE, replicated=own, rolling_buffers=rooms).program
    verify(made)
    assert to_text(old) == before
    assert difference(made, parse(to_text(made))) is None
    return made


def refusal(old, *given):
    rooms = given or ((buffer(old), *rows_of(old)),)
    return refused(distribute_over_team, old, min_rows_per_worker=WIDE, rolling_buffers=rooms).replace(
        "distribute_over_team: cannot distribute the kernel over workers\n", ""
    )


def test_text(golden):
    old = program()
    golden("team_rolling_buffers.txt", f"{body(old)}\n# after\n\n{body(shared_out(old))}")
    assert "t: workspace(float32[workers, widest, 4])" in str(shared_out(old))


@pytest.mark.parametrize("read", [SAME, OTHER_COLUMN])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_same_bits_for_any_team(workers, read):
    old = program(read)
    new = shared_out(old)
    for each in DATA:
        check_team(old, new, each, "y", workers=workers, seeds=range(3))
    check_team_compiled(old, new, DATA, "y", workers=workers)


def test_rows_of_edges_are_rows_too():
    """What is of a node's children stands below it, and its share has its room as well."""
    text = BATCHES.format(read=SAME, factor="2.0").replace(
        "x: payload",
        "edges: input()\nmost: input()\n"
        "under: input(n < total + 1) = facts(0 <= under(n) < edges + 1, prefix_sum(count))\n"
        "count: expression(n < total, under(n + 1) - under(n))\n"
        "below: expression(b < batches, under(begin(b) + length(b)) - under(begin(b)))"
        " = facts(0 <= below(b) < most + 1)\nx: payload",
    )
    text = text.replace("t: workspace(float32[total, 4])", "t: workspace(float32[edges, 4])")
    inner = "                for k in serial(count(begin(b) + n1)):\n"
    old_store = "                t[begin(b) + n1, s1] = x[begin(b) + n1, 3 - s1] * 2.0\n"
    text = text.replace(
        old_store,
        inner + "                    t[under(begin(b) + n1) + k, s1] = x[begin(b) + n1, 3 - s1] * 2.0\n",
    )
    old_read = "                y[begin(b) + n2, s2] = t[begin(b) + n2, s2] + 1.0\n"
    sum_up = inner.replace("n1", "n2") + (
        "                    y[begin(b) + n2, s2] += t[under(begin(b) + n2) + k, s2]\n"
    )
    text = text.replace(old_read, sum_up)
    old = parsed(text)
    made = LoopSchedule(old)
    step = made.loop("step")
    given = ("under(begin(step + 1))", "below(step + 1)", "most")
    room = RollingBuffer(made.buffer("t"), 0, step, *(made.index(each, step) for each in given))
    new = checked(old, (), (room,))
    assert "t: workspace(float32[workers, most, 4])" in str(new)
    for sizes, arrays in DATA:
        counts = np.random.default_rng(sizes["total"]).integers(0, 4, sizes["total"])
        under = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        ends = arrays["begin"] + arrays["length"]
        most = int(max(under[ends[1:]] - under[arrays["begin"][1:]], default=0))
        given = ({**sizes, "edges": int(under[-1]), "most": most}, {**arrays, "under": under})
        check_team(old, new, given, "y", workers=2, seeds=range(2))


def with_own_rows():
    """Return a program in which the loop `n3` copies rows that a product reads whole."""
    text = BATCHES.format(read=SAME, factor="2.0").replace(
        "        for s2 in parallel(4):",
        "        for n3 in parallel(length(b)):\n            for i in serial(4):\n"
        "                u[begin(b) + n3, i] = t[begin(b) + n3, i]\n        for s2 in parallel(4):",
    )
    text = text.replace("y: output", "u: workspace(float32[total, 4])\ny: output")
    text = text.replace("t[begin(b) + n2, s2]", "u[begin(b) + n2, 3 - s2]")
    return parsed(text)


def test_who_runs_rows_of_his_own_finds_a_room():
    """A loop that each worker runs, of its rows alone, may use a room as well."""
    old = with_own_rows()
    new = shared_out(old, own=(loop(old, "n3"),))
    assert re.search(r"u\[w, begin\(b\) \+ n3, i\] = t\[row, n3, i\]", str(new))
    for each in DATA:
        check_team(old, new, each, "y", workers=2, seeds=range(3))
    shared = checked(old, (loop(old, "n3"),), ())
    assert str(new).count("barrier(team)") <= str(shared).count("barrier(team)") + 1


def test_a_team_meets_before_a_room_is_used_again():
    old = program(OTHER_COLUMN)
    new = str(shared_out(old)).splitlines(keepends=True)
    meetings = [k for k, line in enumerate(new) if line.strip() == "barrier(team)"]
    assert (
        len(meetings)
        == str(distribute_over_team(old, min_rows_per_worker=WIDE).program).count("barrier(team)") + 1
    )
    (again,) = [k for k in meetings if new[k - 1].strip() == "b = step + 1"]
    raced = parse("".join(new[:again] + new[again + 1 :]))
    with pytest.raises(Race):
        for seed in range(20):
            interpret(raced, *DATA[2], workers=2, seed=seed)


def test_it_is_replayed():
    old = program()
    schedule = LoopSchedule(old)
    schedule.apply(
        distribute_over_team,
        min_rows_per_worker=WIDE,
        rolling_buffers=(RollingBuffer(buffer(old), *rows_of(old)),),
    )
    again = LoopSchedule(old)
    exec(schedule.log(), {"s": again, "distribute_over_team": distribute_over_team})
    assert str(again.program) == str(schedule.program)


def test_which_fit():
    old = program()
    room = RollingBuffer(buffer(old), *rows_of(old))
    other = RollingBuffer(buffer(old, "y"), *rows_of(old))
    assert legal_rolling_buffers(old, [room, other]) == (room,)
    mirrored = program(MIRRORED)
    assert legal_rolling_buffers(mirrored, [RollingBuffer(buffer(mirrored), *rows_of(mirrored))]) == ()
    assert (
        legal_rolling_buffers(old, [room], [loop(old, "s2")]) == ()
    )  # what it writes is a result, and no worker's own
    assert refusal(old, RollingBuffer(buffer(mirrored), *rows_of(old))).startswith(
        "distribute_over_team: the program has no buffer 't'"
    )


def test_refusals():
    old = program()
    given = ((buffer(old), *rows_of(old)),)
    assert refused(distribute_over_team, old, rolling_buffers=given) == (
        "distribute_over_team: cannot distribute the kernel over workers: rolling_buffers without min_rows_per_worker: "
        "no rows are distributed\n  fix: give min_rows_per_worker; else rebase_storage makes rolling buffers"
    )
    assert (
        refusal(program(MIRRORED))
        == "  because: loop 'n2' may read of 't' what another row or iteration has written"
    )
    text = BATCHES.format(read=SAME, factor="2.0")
    plain = parsed(text.replace("for n2 in parallel", "for n2 in serial"))
    assert refusal(plain) == "  because: loop 's2' accesses 't', and its rows are not distributed"
    fewer = parsed(text.replace("for n2 in parallel(length(b))", "for n2 in parallel(min(length(b), 2))"))
    assert refusal(fewer) == "  because: loops 'n1' and 'n2' access 't' and have different rows"
    conditional = parsed(text.replace("        for s2", "        if step > 0:\n          for s2"))
    assert refusal(conditional) == "  because: loops 'n1' and 'n2' access 't' and have different rows"
    copied = with_own_rows()
    given = ((buffer(copied, "u"), *rows_of(copied)),)
    assert refused(
        distribute_over_team,
        copied,
        min_rows_per_worker=WIDE,
        replicated=(loop(copied, "n3"),),
        rolling_buffers=given,
    ).endswith("  because: each worker has a copy of 'u', or another stage accesses it")
