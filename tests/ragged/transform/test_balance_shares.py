"""balance_shares: workers' contiguous shares of a parallel loop begin where each call says."""

import numpy as np
import pytest

from ragged.analysis.dependence import find_conflict
from ragged.codegen.build import compile_program
from ragged.codegen.entry import CompiledCheckFailed
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller
from ragged.runtime.orders import share_begins
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fuse import fuse
from ragged.transform.mapping import work_sharing
from ragged.transform.mapping.balance_shares import balance_shares
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from tests.ragged.transform.data_support import valid
from tests.ragged.transform.ragged_programs import ROWS, ROWS_DATA, rows_data
from tests.ragged.transform.support import loop, refused


def balanced():
    program = parse(ROWS)
    return program, valid(balance_shares, program, "b_begin", loop(program, "b")).program


def with_shares(count, data):
    return [
        ({**sizes, "shares": count}, {**arrays, "b_begin": share_begins(arrays["n"], count)})
        for sizes, arrays in data
    ]


def test_text(golden):
    program, new = balanced()
    team = valid(distribute_over_team, new).program
    golden(
        "balance_shares.txt",
        f"{program}\nbalance_shares('b_begin', b)\n\n{new}\ndistribute_over_team()\n\n{team}",
    )


@pytest.mark.parametrize("shares", [1, 2, 5])
def test_any_number_of_workers_runs_every_iteration_once(shares):
    program, new = balanced()
    team = valid(distribute_over_team, new).program
    for (sizes, arrays), (plain, lengths) in zip(with_shares(shares, ROWS_DATA), ROWS_DATA, strict=True):
        want = interpret(program, plain, lengths)
        for workers in (1, 2, 3, 7):
            got = interpret(team, sizes, arrays, workers=workers)
            np.testing.assert_array_equal(got["y"], want["y"])
            np.testing.assert_array_equal(got["s"], want["s"])


@pytest.mark.parametrize(
    ("shares", "begins", "message"),
    [
        (2, [0, 2, 2], "b_begin(2) = 2 is not 3"),
        (2, [1, 2, 3], "b_begin(0) = 1 is not 0"),
        (3, [0, 2, 1, 3], "b_begin(1) = 2 is not <= b_begin(2) = 1"),
    ],
)
def test_what_leaves_an_iteration_out_or_runs_one_twice_ends_the_call(shares, begins, message):
    compiled = compile_program(balanced()[1])
    caller = Caller([compiled.entries[kind] for kind in (StageKind.PRELUDE, StageKind.KERNEL)], {})
    sizes, arrays = rows_data([3, 0, 5])
    with pytest.raises(CompiledCheckFailed) as caught:
        caller({**sizes, **arrays, "shares": shares, "b_begin": np.array(begins, np.int32)})
    assert message in str(caught.value)


def test_all_loops_have_as_many_shares():
    text = ROWS + ROWS.partition("with kernel:\n")[2].replace("s.init", "s.again")
    program = parse(text.replace("s: output", "r: output(float32[rows])\ns: output"))
    first, second = loop(program, "b", 0), loop(program, "b", 1)
    new = balance_shares(balance_shares(program, "one", first).program, "two", second).program
    assert str(new).count("shares: call()") == 1
    assert "two: payload(p < shares + 1) = facts(shares(shares, rows))" in str(new)


def test_the_log_taken_again_gives_the_same_program():
    program = parse(ROWS)
    s = LoopSchedule(program)
    s.apply(balance_shares, "b_begin", s.loop("b"))
    again = LoopSchedule(program)
    exec(s.log(), {"s": again, "balance_shares": balance_shares})
    assert str(again.program) == str(s.program)


def test_refusals():
    program = parse(ROWS)
    b, k = loop(program, "b"), loop(program, "k")
    assert refused(balance_shares, program, "x", k) == (
        "balance_shares: cannot share out loop 'k' by 'x'\n"
        "  because: it is a serial loop of the kernel\n"
        "  fix: name a parallel loop of the kernel"
    )
    assert "'a'" in refused(balance_shares, program, "a", b)
    inner = parse(
        ROWS.replace("for k in serial(n(b))", "for k in parallel(n(b))").replace("s[b] +=", "y[b, k] =")
    )
    assert refused(balance_shares, inner, "x", loop(inner, "k")) == (
        "balance_shares: cannot share out loop 'k' by 'x'\n"
        "  because: it runs n(b) times, which is known in the kernel alone\n"
        "  fix: name an outermost loop"
    )


FUSED = """\
program("fused")

B: call()
H: call()
n: input(b < B) = facts(0 <= n(b) < 1024)
n_begin: prelude(p < B + 1, storage=int64) = facts(prefix_sum(n))
y: output(float32[n_begin(B), H])

with kernel:
    for b in parallel(B):
        for h in parallel(H):
            for t in serial(n(b)):
                y[n_begin(b) + t, h] = 1.0
"""


def test_shares_of_fused_loops_are_asked_about_each_loop(monkeypatch):
    program = parse(FUSED)
    program = fuse(program, loop(program, "b"), loop(program, "h")).program
    balanced_loop = balance_shares(program, "begin", loop(program, "b_h")).program
    asked = []

    def check(program, first, second, *rest, **options):
        first = list(first)
        asked.append([outer.var.name for outer in first[0].loops])
        return find_conflict(program, first, second, *rest, **options)

    monkeypatch.setattr(work_sharing, "find_conflict", check)
    assert "team(workers)" in str(distribute_over_team(balanced_loop).program)
    assert asked == [["b", "h", "t"]] * 2
