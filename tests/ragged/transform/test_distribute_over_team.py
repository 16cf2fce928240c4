"""distribute_over_team: its text, what it computes with any number of workers, where workers meet, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.errors import ScheduleError
from ragged.ir.interpret import Race, interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import StageKind
from ragged.ir.rewrite import loops_of
from ragged.ir.verify import verify
from ragged.passes.contract_storage import contract_storage
from ragged.runtime.call import Caller
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from tests.ragged.passes.programs import TREE, tree_data

PHASES = """\
program("phases")

n: call() = facts(0 <= n < 1000)
rounds: call()
x: payload(float32[n])
a: workspace(float32[n])
b: workspace(float32[n])
c: output(float32[n])
d: output(float32[n])

with kernel:
    for i in parallel(n):
        a[i] = x[i] + 1.0
    for i1 in parallel(n):
        d[i1] = x[i1] * 2.0
    for i2 in parallel(n):
        b[i2] = a[n - 1 - i2]
    for r in serial(rounds):
        for i3 in parallel(n):
            c[i3] = b[n - 1 - i3]
        for i4 in parallel(n):
            b[i4] = c[i4] + 1.0
"""
"""Five phases: the second depends on nothing; the third on the first; the fourth on the third and the fifth before."""


def shared_out(text: str):
    program = distribute_over_team(contract_storage(parse(text)).program).program
    verify(program)
    return program


def test_before_and_after(golden):
    golden("distribute_over_team.txt", to_text(parse(TREE)) + "\n# after\n\n" + to_text(shared_out(TREE)))


def test_it_leaves_what_it_is_given_and_forwards_its_loops():
    program = parse(TREE)
    rewritten = distribute_over_team(program)
    assert to_text(program) == TREE
    old, new = loops_of(program), loops_of(rewritten.program)
    for loop in old:
        assert [var in new for var in rewritten.forwarding.loops[loop]] == [True]


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(4))
def test_trees_with_any_number_of_workers(workers, seed):
    sizes, arrays = tree_data(depth=seed + 1, seed=seed)
    want = interpret(parse(TREE), sizes, arrays)["h"]
    program = shared_out(TREE)
    got = interpret(program, sizes, arrays, workers=workers, seed=seed)["h"]
    np.testing.assert_array_equal(got, want)
    given = {**sizes, **arrays}
    plain, team = (compile_program(each).entry(StageKind.KERNEL) for each in (parse(TREE), program))
    compiled = Caller([team], {}, workers=workers)(given, spin_ns=10**10)["h"]
    np.testing.assert_array_equal(compiled, Caller([plain], {})(given)["h"])


def test_workers_meet_where_they_depend_on_each_other_and_nowhere_else():
    lines = [line.strip() for line in to_text(shared_out(PHASES)).splitlines()]
    steps = [line for line in lines if line.startswith(("barrier", "for i", "for r"))]
    order = [line.split(" in ")[0].removeprefix("for ") for line in steps]
    assert order == [
        *("i_s", "i1_s", "barrier(team)", "i2_s"),
        *("r", "barrier(team)", "i3_s", "barrier(team)", "i4_s"),
    ]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_phases_with_any_number_of_workers(workers, seed):
    for n, rounds in ((0, 2), (1, 1), (9, 0), (9, 3)):
        x = np.random.default_rng(seed).standard_normal(n).astype(np.float32)
        want = interpret(parse(PHASES), {"n": n, "rounds": rounds}, {"x": x})
        got = interpret(shared_out(PHASES), {"n": n, "rounds": rounds}, {"x": x}, workers=workers, seed=seed)
        for name in ("c", "d"):
            np.testing.assert_array_equal(got[name], want[name])


@pytest.mark.parametrize("dropped", range(3))
def test_each_barrier_is_needed(dropped):
    """With one of them left out, the interpreter finds the race."""
    pieces = to_text(shared_out(PHASES)).split("barrier(team)\n")
    assert len(pieces) == 4
    kept = [piece + ("barrier(team)\n" if k != dropped else "\n") for k, piece in enumerate(pieces[:-1])]
    program = parse("".join((*kept, pieces[-1])))
    x = np.arange(6, dtype=np.float32)
    with pytest.raises(Race):
        interpret(program, {"n": 6, "rounds": 3}, {"x": x}, workers=3)


def refusal(text: str) -> str:
    with pytest.raises(ScheduleError) as error:
        distribute_over_team(parse(text))
    return str(error.value)


def test_statements_outside_parallel_loops_are_refused():
    text = PHASES.replace("    for i in parallel(n):\n        a[i]", "    for i in serial(n):\n        a[i]")
    assert refusal(text) == (
        "distribute_over_team: cannot distribute the kernel over workers\n"
        "  at <program>:13\n"
        "  because: 'a' stands outside its parallel loops: every worker would execute it"
    )
    assert "it has no parallel loop" in refusal(PHASES.replace("parallel", "serial"))


def test_iterations_that_depend_on_each_other_are_refused():
    text = refusal(PHASES.replace("b[i4] = c[i4] + 1.0", "b[i4] = b[n - 1 - i4]"))
    assert text.startswith(
        "distribute_over_team: the iterations of loop 'i4' are not proven to be independent\n"
        "  at <program>:21\n"
        "  because: 'b' may in both iterations touch one element of 'b'\n"
        "  example: "
    )


def test_loops_whose_length_is_computed_are_refused():
    text = PHASES.replace("a: workspace(float32[n])", "a: workspace(float32[n])\nk: workspace(int64[1])")
    text = text.replace("for i4 in parallel(n)", "for i4 in parallel(k[0])")
    assert refusal(text) == (
        "distribute_over_team: cannot distribute the kernel over workers\n"
        "  because: a statement around loop 'i4' reads 'k', and workers would read it at different times"
    )


FUSED = """\
program("fused")

m: call()
n: call()
x: payload(float32[m, n])
y: output(float32[m, n])

with kernel:
    for e in parallel(m * n):
        i = e // n
        j = e % n
        y[i, j] = x[i, j] * 2.0
"""


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_fused_loops_are_shared_by_all_their_iterations(workers):
    program = shared_out(FUSED)
    for m, n in ((1, 5), (5, 1), (2, 3), (0, 4)):
        x = np.arange(m * n, dtype=np.float32).reshape(m, n)
        got = interpret(program, {"m": m, "n": n, "workers": workers}, {"x": x})["y"]
        np.testing.assert_array_equal(got, 2 * x)


@pytest.mark.parametrize(("target", "loop"), [("[i, 0]", "j"), ("[0, j]", "i")])
def test_fused_loops_of_which_one_is_dependent_are_refused(target, loop):
    text = refusal(FUSED.replace("y[i, j] =", f"y{target} ="))
    assert text.startswith(
        f"distribute_over_team: the iterations of loop '{loop}' are not proven to be independent\n"
    )


def test_loops_that_stay_parallel():
    text = PHASES.replace(
        "        a[i] = x[i] + 1.0\n", "        for j in parallel(4):\n            a[i] = x[i] + 1.0\n"
    )
    program = parse(
        text.replace("a: workspace(float32[n])", "a: workspace(float32[n, 4])")
        .replace("a[i]", "a[i, j]")
        .replace("a[n - 1 - i2]", "a[n - 1 - i2, 0]")
    )
    (inner,) = (var for var in loops_of(program) if var.name == "j")
    done = distribute_over_team(program, kept_parallel=(inner,)).program
    verify(done)
    assert "for j in parallel(4):" in to_text(done) and "for j in serial(4):" in to_text(
        distribute_over_team(program).program
    )
