"""Where workers meet: in the loop that carries a dependence, and nowhere if none does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragged.analysis import barrier_placement
from ragged.analysis.dependence import find_conflict
from ragged.codegen.build import compile_program
from ragged.ir.interpret import Race, interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import StageKind
from ragged.ir.verify import verify
from ragged.runtime.call import Caller
from ragged.transform.mapping.distribute_over_team import distribute_over_team

GRID = """\
program("grid")

n: call() = facts(0 <= n < 1000)
x: payload(float32[5, 5, n])
y: output(float32[5, 5, n])

with kernel:
    for a in serial(4):
        for b in serial(4):
            for i in parallel(n):
                y[{written}, i] = {value}
"""
CARRIED = {
    "outer": ("a + 1, b", "(0.5 * x[a, b, i] if a == 0 else y[a, 3 - b, n - 1 - i] + 1.0)"),
    "inner": ("a, b + 1", "(0.5 * x[a, b, i] if b == 0 else y[a, b, n - 1 - i] + 1.0)"),
    "both": ("a + 1, b + 1", "(0.5 * x[a, b, i] if a == 0 or b == 0 else y[a, b, n - 1 - i] + 1.0)"),
    "none": ("a, b", "0.5 * x[a, b, n - 1 - i]"),
}
"""Which loop carries the dependence of a row on another: a row before, a column before, both, or none does."""


def grid(carried: str):
    written, value = CARRIED[carried]
    return parse(GRID.format(written=written, value=value))


def shared_out(program):
    made = distribute_over_team(program).program
    verify(made)
    return made


def data(n: int) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    return {"n": n}, {"x": np.random.default_rng(n).standard_normal((5, 5, n)).astype(np.float32)}


def kernel(program) -> str:
    return to_text(program).partition("with kernel:\n")[2]


def test_text(golden):
    parts = []
    for carried in CARRIED:
        program = grid(carried)
        parts += [f"# carried by: {carried}\n", kernel(program), "# after\n", kernel(shared_out(program))]
    golden("barrier_placement.txt", "\n".join(parts))


@pytest.mark.parametrize(
    ("carried", "lines"),
    [
        ("outer", ["for a", "barrier(team)", "for b", "for i_s"]),
        ("inner", ["for a", "for b", "barrier(team)", "for i_s"]),
        ("both", ["for a", "barrier(team)", "for b", "for i_s"]),
        ("none", ["for a", "for b", "for i_s"]),
    ],
)
def test_a_barrier_stands_in_the_loop_that_carries_the_dependence(carried, lines):
    text = [line.strip().split(" in ")[0] for line in kernel(shared_out(grid(carried))).splitlines()]
    assert [line for line in text if line.startswith(("for", "barrier"))][1:] == lines


@pytest.mark.parametrize("carried", CARRIED)
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_it_computes_the_same(carried, workers):
    old = grid(carried)
    new = shared_out(old)
    plain, team = (compile_program(each).entry(StageKind.KERNEL) for each in (old, new))
    for n in (1, 2, 7):
        sizes, arrays = data(n)
        want = interpret(old, sizes, arrays)["y"]
        for seed in range(3):
            got = interpret(new, sizes, arrays, workers=workers, seed=seed)["y"]
            np.testing.assert_array_equal(got, want)
        given = {**sizes, **arrays}
        compiled = Caller([team], {}, workers=workers)(given, spin_ns=10**10)["y"]
        reference = Caller([plain], {})(given)["y"]
        written = ~np.isnan(want) if np.isnan(want).any() else np.ones(want.shape, bool)
        rows = slice(1, 5) if carried in ("outer", "both") else slice(0, 4)
        columns = slice(1, 5) if carried in ("inner", "both") else slice(0, 4)
        assert written[rows, columns].all()
        np.testing.assert_array_equal(compiled[rows, columns], reference[rows, columns])


@pytest.mark.parametrize("carried", ["outer", "inner", "both"])
def test_without_its_barrier_a_program_is_refused(carried):
    text = to_text(shared_out(grid(carried)))
    assert text.count("barrier(team)") == 1
    lacking = parse("".join(line for line in text.splitlines(keepends=True) if "barrier" not in line))
    sizes, arrays = data(7)
    with pytest.raises(Race) as error:
        interpret(lacking, sizes, arrays, workers=3)
    assert "'y'" in str(error.value)


PLACES = ("a, b", "a + 1, b", "a, b + 1", "a + 1, b + 1", "a, 3 - b", "3 - a, b", "a + 1, 3 - b", "b, a")
PHASE = """\
for i{k} in parallel(n):
    {buffer}[{written}, i{k}]: s{k} = {other}[{read}, n - 1 - i{k}] + {k}.0
"""
START = """\
    for k in parallel(n):
        for a in serial(5):
            for b in serial(5):
                {buffer}[a, b, k]: {buffer}.init = x[a, b, k]"""


@st.composite
def nests(draw) -> str:
    """Draw phases in nested loops and between them, over two arrays: each reads the one and writes the other."""
    count, lines = 0, []

    def phase(indent: int) -> None:
        nonlocal count
        first = draw(st.booleans())
        text = PHASE.format(
            k=count,
            buffer="p" if first else "q",
            other="q" if first else "p",
            written=draw(st.sampled_from(PLACES)),
            read=draw(st.sampled_from(PLACES)),
        )
        lines.extend(f"{' ' * indent}{line}" for line in text.splitlines())
        count += 1

    for around in range(draw(st.integers(1, 2))):
        lines.append("    for a in serial(3):")
        for _ in range(draw(st.integers(0, 1))):
            lines.append("        for b in serial(1):")
            phase(12)
        for _ in range(draw(st.integers(1, 2))):
            lines.append("        for b in serial(3):")
            for _ in range(draw(st.integers(1, 2))):
                phase(12)
        assert around < 2
    start = [START.format(buffer=buffer) for buffer in "pq"]
    head = GRID.partition("y: output")[0] + "p: output(float32[5, 5, n])\nq: output(float32[5, 5, n])\n"
    return "\n".join([head, "with kernel:", *start, *lines, ""])


@given(nests(), st.integers(1, 6), st.integers(2, 4), st.integers(0, 3))
@settings(max_examples=60)
def test_no_nest_of_phases_races(text, n, workers, seed):
    """The interpreter refuses a race and a barrier that not all come to, and what is computed is the same."""
    old = parse(text)
    new = shared_out(old)
    sizes, arrays = data(n)
    want = interpret(old, sizes, arrays)
    got = interpret(new, sizes, arrays, workers=workers, seed=seed)
    for name in "pq":
        np.testing.assert_array_equal(got[name], want[name])


ALIKE = """\
program("alike")

n: call() = facts(0 <= n < 1000)
x: payload(float32[{first}, n])
t: workspace(float32[{first}, n])
y: output(float32[{second}, n])

with kernel:
    for a in parallel({first}):
        for i in serial(n):
            t[a, i] = 2.0 * x[a, i]
    for b in parallel({second}):
        for i in serial(n):
            y[b, i] = t[{read}, i]
"""


@pytest.mark.parametrize(
    ("first", "second", "read", "waits"),
    [("4", "4", "b", False), ("4", "4", "3 - b", True), ("4", "3", "b", True), ("n", "n", "b", True)],
)
def test_shares_of_equal_loops_are_alike(first, second, read, waits):
    """A worker that reads what the same iteration of a loop of the same number wrote has itself written it."""
    old = parse(ALIKE.format(first=first, second=second, read=read))
    new = shared_out(old)
    assert ("barrier" in kernel(new)) == waits
    for n in (1, 2, 7):
        rows = n if first == "n" else 4
        x = np.random.default_rng(n).standard_normal((rows, n)).astype(np.float32)
        want = interpret(old, {"n": n}, {"x": x})["y"]
        for seed, workers in enumerate((1, 2, 3, 5)):
            got = interpret(new, {"n": n}, {"x": x}, workers=workers, seed=seed)["y"]
            np.testing.assert_array_equal(got, want)


def test_a_pair_of_regions_is_asked_about_once_at_any_depth(monkeypatch):
    def asked(depth: int) -> int:
        lines = ["x: payload(float32[n])", "y: output(float32[n])", "", "with kernel:"]
        lines += ["    " * (d + 1) + f"for a{d} in serial(4):" for d in range(depth)]
        lines += ["    " * (depth + 1) + "for i in parallel(n):", "    " * (depth + 2) + "y[i] = x[i] + 1.0"]
        head = 'program("deep")\n\nn: call() = facts(0 <= n < 1000)\n'
        program, questions = parse(head + "\n".join(lines) + "\n"), []

        def counted(*args, **options):
            questions.append(args)
            return find_conflict(*args, **options)

        monkeypatch.setattr(barrier_placement, "find_conflict", counted)
        assert kernel(shared_out(program)).count("barrier") == 1
        return len(questions)

    assert [asked(depth) for depth in (1, 2, 4, 6)] == [1, 2, 4, 6]
